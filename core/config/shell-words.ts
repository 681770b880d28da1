/** A parsed command line, or the first part of it that needs a shell. */
export type ShellWords =
  | { readonly ok: true; readonly variables: Readonly<Record<string, string>>; readonly words: readonly string[] }
  | { readonly ok: false; readonly problem: string }

/** No program accepts longer ones: arguments and environment have 128 KiB each. */
const LINE_CHARACTERS = 264 * 1024

const LINE_WORDS = 10_000

const OPERATORS = '|&;<>()`\n'

/**
 * Splits a POSIX command line: quotes, escapes, leading variables (`KEY=value npx …`), lines continued by a backslash.
 * Shell features (pipes, redirections, substitutions) are rejected: no shell runs a server's command.
 */
export function shellWords(line: string): ShellWords {
  if (line.length > LINE_CHARACTERS) {
    return { ok: false, problem: `it has ${line.length} characters; no program takes more than ${LINE_CHARACTERS}` }
  }
  const text = line.trim().replace(/^\$\s+/, '')
  const words: string[] = []
  let word: string | undefined
  let quote: '"' | "'" | undefined
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at)
    const next = text.charAt(at + 1)
    if (quote === "'") {
      if (character === "'") quote = undefined
      else word += character
    } else if (character === '\\' && (quote === undefined || '"\\$`\n'.includes(next))) {
      if (next !== '\n') word = (word ?? '') + next
      at += 1
    } else if (character === quote) quote = undefined
    else if (character === '`' || (character === '$' && /[({A-Za-z_]/.test(next))) {
      return { ok: false, problem: `column ${at + 1}: ${character}${next} needs a shell; write the value itself` }
    } else if (quote === '"') word += character
    else if (character === '"' || character === "'") {
      quote = character
      word ??= ''
    } else if (OPERATORS.includes(character)) {
      return {
        ok: false,
        problem: `column ${at + 1}: ${JSON.stringify(character)} needs a shell; give one plain command`,
      }
    } else if (/\s/.test(character)) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else word = (word ?? '') + character
  }
  if (quote !== undefined) return { ok: false, problem: `a ${quote} is not closed` }
  if (word !== undefined) words.push(word)
  if (words.length > LINE_WORDS)
    return { ok: false, problem: `it has ${words.length} words; at most ${LINE_WORDS} are read` }
  return withVariables(words)
}

function withVariables(words: readonly string[]): ShellWords {
  const variables = new Map<string, string>()
  let first = 0
  if (words[0] === 'env') first = 1
  for (; first < words.length; first += 1) {
    const match = /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/s.exec(words[first] ?? '')
    if (!match?.[1]) break
    variables.set(match[1], match[2] ?? '')
  }
  const rest = words.slice(first)
  if (rest.length === 0) return { ok: false, problem: 'it names no command' }
  // fromEntries makes `__proto__` an own member; an assignment would silently lose it.
  return { ok: true, variables: Object.fromEntries(variables), words: rest }
}
