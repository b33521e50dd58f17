"""How pages look, light and dark, and the script that brings a hovered line's partners into view."""

_LIGHT = """--tg-bg:#ffffff;--tg-fg:#1f2328;--tg-dim:#6e7781;--tg-edge:#d0d7de;--tg-lit:#fff1b8;--tg-bar:#f6f8fa;
--tg-key:#a6215f;--tg-text:#0a3069;--tg-comment:#5a6772;--tg-number:#0550ae;--tg-name:#6639ba;"""
_DARK = """--tg-bg:#161b22;--tg-fg:#e6edf3;--tg-dim:#8b949e;--tg-edge:#30363d;--tg-lit:#4a4119;--tg-bar:#21262d;
--tg-key:#ff7b9c;--tg-text:#a5d6ff;--tg-comment:#9aa4ae;--tg-number:#79c0ff;--tg-name:#d2a8ff;"""

STYLE = (
    ".tilegen{" + _LIGHT + "color:var(--tg-fg);background:var(--tg-bg);border:1px solid var(--tg-edge);"
    "border-radius:6px;padding:8px;font:13px/1.45 system-ui,sans-serif;color-scheme:light;text-align:left}"
    "@media(prefers-color-scheme:dark){.tilegen{" + _DARK + "color-scheme:dark}}"
    "[data-jp-theme-light=true] .tilegen,.vscode-light .tilegen{" + _LIGHT + "color-scheme:light}"
    "[data-jp-theme-light=false] .tilegen,.vscode-dark .tilegen{" + _DARK + "color-scheme:dark}"
    ".tilegen .tg-head{padding:2px 4px 8px}"
    ".tilegen details{margin-top:4px}.tilegen summary{cursor:pointer;color:var(--tg-fg)}"
    ".tilegen table{border-collapse:collapse;margin:4px 0 4px 16px;color:var(--tg-fg);font-size:12px}"
    ".tilegen th,.tilegen td{text-align:left;vertical-align:top;padding:2px 10px 2px 0;white-space:normal;"
    "border:0;background:none;color:var(--tg-fg);max-width:70em}"
    ".tilegen th{color:var(--tg-dim);font-weight:600}.tilegen tr{background:none!important}"
    ".tilegen .tg-panes{display:flex;flex-wrap:wrap;gap:8px}"
    ".tilegen .tg-pane{flex:1 1 420px;min-width:0;border:1px solid var(--tg-edge);border-radius:4px}"
    ".tilegen header{padding:3px 8px;background:var(--tg-bar);border-bottom:1px solid var(--tg-edge);"
    "color:var(--tg-dim);font-size:12px}"
    ".tilegen .tg-code{margin:0;padding:4px 0;max-height:34em;overflow:auto;background:none;border:0;color:inherit;"
    "font:12px/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;position:relative}"
    ".tilegen .tg-line{display:block;min-width:max-content;padding:0 8px 0 0;white-space:pre}"
    ".tilegen .tg-line::before{content:attr(data-n);display:inline-block;width:3.2em;margin-right:1em;"
    "text-align:right;color:var(--tg-dim);user-select:none}"
    ".tilegen .tg-line[data-l]::before{border-right:2px solid var(--tg-edge);padding-right:4px;width:calc(3.2em - 6px)}"
    ".tilegen :is(.tg-k,.tg-kn,.tg-kc,.tg-kd,.tg-kr,.tg-kt,.tg-ow,.tg-cp,.tg-cpf){color:var(--tg-key)}"
    ".tilegen :is(.tg-s,.tg-s1,.tg-s2,.tg-sa,.tg-sd,.tg-se,.tg-si){color:var(--tg-text)}"
    ".tilegen :is(.tg-c,.tg-c1,.tg-cm,.tg-ch){color:var(--tg-comment);font-style:italic}"
    ".tilegen :is(.tg-m,.tg-mi,.tg-mf,.tg-mh){color:var(--tg-number)}"
    ".tilegen :is(.tg-nf,.tg-nc,.tg-nd){color:var(--tg-name)}"
)

# Scrolls inside of the panes alone; without it lines still light up.
SCRIPT = """(()=>{const root=document.getElementById("NAME");if(!root)return;
const codes=[...root.querySelectorAll(".tg-code")];
const show=(code,line)=>{if(line)code.scrollTop=line.offsetTop-code.clientHeight/3};
const last=codes[codes.length-1];if(last)show(last,last.querySelector("[data-l]"));
root.addEventListener("mouseover",event=>{const line=event.target.closest("[data-l]");if(!line)return;
for(const code of codes){if(code.contains(line))continue;
const all=[...code.querySelectorAll('[data-l="'+line.dataset.l+'"]')];
const seen=all.some(l=>l.offsetTop>=code.scrollTop&&l.offsetTop+l.clientHeight<=code.scrollTop+code.clientHeight);
if(!seen)show(code,all[0]);}});})()"""
