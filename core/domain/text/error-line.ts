/** Longest text of {@link errorWords}, in characters. */
const LONGEST = 400
const LAST_LINES = 3
const LINE_CHARACTERS = 200

/** An error of a language's runtime or of a program for packages, at the beginning of its line. */
const ERROR =
  /^(?:\S{1,64}: )?(?:Uncaught |Unhandled |\(in promise\) |error: )*[A-Za-z_][\w.$:]{0,128}(?:Error|Exception|Panic|Exit)(?: \[\w+\])?(?::|$)/
const FATAL =
  /^(?:panic: |fatal(?: error)?: |PHP Fatal|Exception in thread|Caused by: |Unhandled exception|Segmentation fault|dyld\[|docker: |podman: |[×✖] )|^thread '.{0,64}' panicked at|^error(?:\[\w+\])?: |^[\w.-]{1,64}: error: |\(\w+Error\)$|: (?:command )?not found$|: No module named |: cannot open |: can't open file |: No such file or directory$|: cannot execute|error while loading shared libraries|\bUnable to access jarfile\b/i
/** Lines of npm that say nothing but that there was an error. */
const NPM = /^npm (?:error|ERR!)/
const NPM_NOTHING =
  /^npm (?:error|ERR!)(?:\s*$|\s+(?:code|errno|syscall|path|dest|cwd|signal|command|workspace|location|Lifecycle|Note|This is|A complete log|in |at |\d{3}\s*$|\s*$|\{|\}))/
/** A level of a log, in text or as a field of JSON. */
const LEVEL =
  /^\W{0,3}(?:\S{1,40}\s{1,4}){0,3}\W?(?:FATAL|CRITICAL|ERROR)\b|"level":\s?"(?:fatal|error|critical)"|\blevel=(?:fatal|error|critical)\b/i
const WORDS =
  /\b(?:error|fatal|failed|failure|cannot|can't|could not|unable|missing|required|denied|refused|not found|not set|invalid|unauthorized|forbidden|expired|EADDRINUSE|EACCES|ENOENT|ECONNREFUSED)\b/i
/** Stack frames, code that is pointed at, brackets, and other lines that no reason is in. */
const NOISE =
  /^\s*(?:at |File "|\^|\.{3}|[{}()[\],;]+\s*$|Traceback |node:|Node\.js v\d|Bun v\d|goroutine |exit status \d|\[signal |note: run with|code: '|[-=*_~^]{3,})/
/** A line that continues in the next one. */
const GOES_ON = /(?::|\[|panicked at .{1,200}:\d+:\d+:?|errors? for \S+)$/

/**
 * The line of a program's standard error that says why it failed, with the next one where it continues there. Undefined where no
 * line says so.
 */
export function errorLine(lines: readonly string[]): string | undefined {
  const texts = lines.map(line => line.trimEnd())
  const at =
    last(texts, text => !NPM.test(text) && (ERROR.test(text) || FATAL.test(text))) ??
    first(texts, text => NPM.test(text) && !NPM_NOTHING.test(text)) ??
    last(texts, text => ERROR.test(text.trimStart()) || FATAL.test(text.trimStart())) ??
    last(texts, text => LEVEL.test(text)) ??
    last(texts, text => WORDS.test(text) && !NOISE.test(text) && !NPM.test(text))
  if (at === undefined) return undefined
  const found = (texts[at] ?? '').trim()
  const next = (texts[at + 1] ?? '').trim()
  const isWhole = !(GOES_ON.test(found) || found.startsWith('×')) || next === '' || NOISE.test(next)
  return (isWhole ? found : `${found} ${next}`).slice(0, LONGEST)
}

/** The same, or the last three lines where no line says why it failed. Empty without any line. */
export function errorWords(lines: readonly string[]): string {
  const found = errorLine(lines)
  if (found !== undefined) return found
  return lines
    .slice(-LAST_LINES)
    .map(line => line.slice(0, LINE_CHARACTERS))
    .join(' | ')
}

function last(texts: readonly string[], wanted: (text: string) => boolean): number | undefined {
  const at = texts.findLastIndex(wanted)
  return at < 0 ? undefined : at
}

function first(texts: readonly string[], wanted: (text: string) => boolean): number | undefined {
  const at = texts.findIndex(wanted)
  return at < 0 ? undefined : at
}
