/** Stdio: reads everything and never answers. IGNORE_TERM=1 makes it ignore TERM too, and the end of its input. */
if (process.env.IGNORE_TERM === '1') process.on('SIGTERM', () => {})
process.stdin.resume()
if (process.env.IGNORE_TERM === '1') setInterval(() => {}, 1_000)
else process.stdin.on('end', () => process.exit(0))
