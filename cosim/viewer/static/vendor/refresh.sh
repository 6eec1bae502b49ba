#!/usr/bin/env bash
# Fetch the libraries of the page and build what is kept here: ./refresh.sh (needs npm; nothing else does)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --silent three@0.187.0 uplot@1.6.32 elkjs@0.12.1 esbuild@0.25
cat > three-parts.js <<'PARTS'
export {
    AmbientLight, ArrowHelper, BufferAttribute, BufferGeometry, BoxGeometry, Color, ConeGeometry, CylinderGeometry,
    DirectionalLight, Fog, GridHelper, Group, InstancedMesh, Line, LineBasicMaterial, LineSegments, Matrix4, Mesh,
    MeshLambertMaterial, MeshBasicMaterial, OrthographicCamera, PerspectiveCamera, Quaternion, Raycaster, Scene,
    SphereGeometry, TorusGeometry, Vector2, Vector3, WebGLRenderer,
} from "three";
export { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
PARTS
npx esbuild three-parts.js --bundle --minify --format=iife --global-name=THREE --outfile="$here/three.js" --legal-comments=inline
cp node_modules/elkjs/lib/elk.bundled.js "$here/elk.js"
cp node_modules/uplot/dist/uPlot.iife.min.js "$here/uplot.js"
cp node_modules/uplot/dist/uPlot.min.css "$here/uplot.css"
cp node_modules/three/LICENSE "$here/LICENSE.three.txt"
cp node_modules/uplot/LICENSE "$here/LICENSE.uplot.txt"
cp node_modules/elkjs/LICENSE.md "$here/LICENSE.elkjs.txt"
