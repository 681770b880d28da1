/** A parsed command line, or the first part of it that needs a shell. */
export type ShellWords =
  | { readonly ok: true; readonly variables: Readonly<Record<string, string>>; readonly words: readonly string[] }
  | { readonly ok: false; readonly problem: string }

/** No program accepts longer ones: arguments and environment have 128 KiB each. */
const LINE_CHARACTERS = 264 * 1024

const LINE_WORDS = 10_000

const OPERATORS = '|&;<>()`\n\r'

/**
 * The beginning of a path of Windows: a drive, a share, a variable, a folder from here, or a file below one. Its backslashes are
 * separators. Behind a doubled backslash the path is escaped for a shell already, and is read as such.
 */
const WINDOWS_PATH =
  /(?:[A-Za-z]:\\(?!\\)|\\\\[\w.$?-]+\\(?!\\)|%[\w()~]+%\\(?!\\)|\.{1,2}\\(?=[\w.@])|~\\(?=[\w.@])|[\w@.-]+(?:\\[\w@.-]+){0,64}\\[\w@-]+\.[A-Za-z]\w{0,4}(?=["\s]|$))/y

/**
 * Splits a POSIX command line: quotes, escapes, leading variables (`KEY=value npx …`), lines continued by a backslash.
 * A word that is a path of Windows keeps its backslashes. Shell features (pipes, redirections, substitutions) are rejected: no shell runs a server's command.
 */
export function shellWords(line: string): ShellWords {
  if (line.length > LINE_CHARACTERS) {
    return { ok: false, problem: `it has ${line.length} characters; no program takes more than ${LINE_CHARACTERS}` }
  }
  const splitter = new Splitter(line.trim().replace(/^\$\s+/, ''))
  const problem = splitter.split()
  if (problem !== undefined) return { ok: false, problem }
  const { words } = splitter
  if (words.length > LINE_WORDS)
    return { ok: false, problem: `it has ${words.length} words; at most ${LINE_WORDS} are read` }
  return withVariables(words)
}

class Splitter {
  readonly words: string[] = []
  readonly #text: string
  #at = 0
  /** The word being read; undefined between words. */
  #word: string | undefined
  #quote: '"' | "'" | undefined
  /** The word being read is a path of Windows. */
  #isWindowsPath = false

  constructor(text: string) {
    this.#text = text
  }

  /** Fills `words`; what only a shell could do, as a sentence. */
  split(): string | undefined {
    for (; this.#at < this.#text.length; this.#at += 1) {
      const problem = this.#take(this.#text.charAt(this.#at), this.#text.charAt(this.#at + 1))
      if (problem !== undefined) return `column ${this.#at + 1}: ${problem}`
    }
    this.#endWord()
    return this.#quote === undefined ? undefined : `a ${this.#quote} is not closed`
  }

  #take(character: string, next: string): string | undefined {
    if (this.#quote === "'" && character !== "'") return this.#append(character)
    if (this.#word === undefined || this.#word === '' || this.#word.endsWith('=')) this.#beginPath()
    if (character === '\\' && this.#isWindowsPath && next !== '\n' && next !== '\r') return this.#separator(next)
    if (character === '\\' && (this.#quote === undefined || '"\\$`\n'.includes(next))) return this.#escape(next)
    if (character === this.#quote) {
      this.#quote = undefined
      return undefined
    }
    if (character === '`' || (character === '$' && /[({A-Za-z_]/.test(next))) {
      return `${character}${next} needs a shell; write the value itself`
    }
    return this.#quote === '"' ? this.#append(character) : this.#unquoted(character)
  }

  #unquoted(character: string): string | undefined {
    if (character === '"' || character === "'") {
      this.#quote = character
      return this.#append('')
    }
    if (OPERATORS.includes(character)) return `${JSON.stringify(character)} needs a shell; give one plain command`
    return /\s/.test(character) ? this.#endWord() : this.#append(character)
  }

  #beginPath(): void {
    WINDOWS_PATH.lastIndex = this.#at
    this.#isWindowsPath ||= WINDOWS_PATH.test(this.#text)
  }

  /** A backslash of a path; the last one of a folder in quotes does not escape the quote. */
  #separator(next: string): undefined {
    const isInner = next === '"' && this.#quote === '"' && /\S/.test(this.#text.charAt(this.#at + 2))
    if (isInner) return this.#escape(next)
    this.#append('\\')
  }

  #escape(next: string): undefined {
    const isLineEnd = next === '\r' && this.#quote === undefined
    if (next !== '\n' && !isLineEnd) this.#append(next)
    this.#at += isLineEnd && this.#text.charAt(this.#at + 2) === '\n' ? 2 : 1
  }

  #append(text: string): undefined {
    this.#word = (this.#word ?? '') + text
  }

  #endWord(): undefined {
    if (this.#word !== undefined) this.words.push(this.#word)
    this.#word = undefined
    this.#isWindowsPath = false
  }
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
