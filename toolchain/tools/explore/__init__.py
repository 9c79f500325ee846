"""`jxc explore`: the page of a program at each stage, live.

Three child processes do what may crash or hang. `lowering` imports the user's file and lowers the
function. `worker` runs pipelines (`variant`), compiles, and makes the texts and graphs of the page
(`graph`, `layout`). `session` asks them, watches the files and keeps the last good state; `server`
answers the browser. The page's style, its panes and its links are those of `pages/`.
"""
