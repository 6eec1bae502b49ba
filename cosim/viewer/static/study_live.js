// The page of a study that runs: it is drawn anew whenever cases are done; what was selected stays so.
viewer.beginners = [...(viewer.beginners ?? []), async () => {
  const said = viewer.element("span", { "data-study": "said", class: "said" });
  document.getElementById("about").after(said);
  let socket = null, coming = null, lost = 0;
  const live = (viewer.studyLive = { renewed: 0, close: () => { lost = Infinity; socket.close(); } });
  function open() {
    socket = new WebSocket(location.href.replace(/^http/, "ws").replace(/[#?].*$/, "").replace(/\/?$/, "/socket"));
    socket.binaryType = "arraybuffer";
    socket.onopen = () => { lost = 0; said.textContent = ""; };
    socket.onmessage = (event) => {
      if (typeof event.data !== "string") {
        viewer.row = new Float64Array(event.data);
        viewer.renewStudy(coming.study);
        live.renewed += 1;
        return;
      }
      const message = JSON.parse(event.data);
      if (message.kind === "study") coming = message;
      else if (message.kind === "problem") said.textContent = message.text;
    };
    socket.onclose = () => {
      said.textContent = "the study is not reached" + (lost < 60 ? ", trying again" : "");
      if (++lost < 60) setTimeout(open, Math.min(5000, 250 * lost));
    };
  }
  open();
}];
