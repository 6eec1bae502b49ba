"""Names that try to be more than names."""

HOSTILE = '</script><script>window.broken = true</script><img src=x onerror="window.broken = true">'
