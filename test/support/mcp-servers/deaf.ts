/** Stdio: reads everything and never answers. IGNORE_TERM=1 makes it live through a TERM too, and through the end of its input. */
if (process.env.IGNORE_TERM === '1') process.on('SIGTERM', () => {})
process.stdin.resume()
if (process.env.IGNORE_TERM === '1') setInterval(() => {}, 1_000)
else process.stdin.on('end', () => process.exit(0))
