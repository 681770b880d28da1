/** Options of uv that precede its command and take the next word. */
const TAKES_VALUE: ReadonlySet<string> = new Set([
  ...['--directory', '--project', '--config-file', '--cache-dir', '--color', '--allow-insecure-host'],
])

/** True when a command is `uv run`, which needs the packages of a project; options of uv may precede `run`. */
export function isProjectRun(command: string, args: readonly string[]): boolean {
  if (!/^(?:\/usr(?:\/local)?\/bin\/)?uv$/.test(command)) return false
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at] ?? ''
    if (!word.startsWith('-')) return word === 'run'
    if (TAKES_VALUE.has(word)) at += 1
  }
  return false
}
