import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

export interface SourceFile {
  /** From the root of the project, with `/`. */
  readonly path: string
  readonly text: string
  /** The text with comments, strings and regular expressions replaced by spaces, line breaks kept. */
  readonly code: string
  readonly imports: readonly Import[]
}

export interface Import {
  readonly specifier: string
  /** True for an import that does not exist at run time. */
  readonly typeOnly: boolean
  /** The file of a relative specifier, from the root of the project. */
  readonly target: string | undefined
}

const SKIPPED = new Set(['node_modules', '.git', 'dist', 'out', '.patchbay'])

/** Every file below these folders and files of the project, as paths from its root. */
export function filesBelow(root: string, starts: readonly string[]): string[] {
  const walk = (path: string): string[] => {
    if (!existsSync(path)) return []
    if (!statSync(path).isDirectory()) return [relative(root, path)]
    return readdirSync(path)
      .filter(name => !SKIPPED.has(name))
      .flatMap(name => walk(join(path, name)))
  }
  return starts.flatMap(start => walk(join(root, start)))
}

export function readSources(root: string, starts: readonly string[]): SourceFile[] {
  return filesBelow(root, starts)
    .filter(path => path.endsWith('.ts'))
    .map(path => {
      const text = readFileSync(join(root, path), 'utf8')
      const { code, uncommented } = blank(text)
      return { path, text, code, imports: findImports(path, uncommented) }
    })
}

const IMPORT =
  /\b(?:import|export)\s+(type\s+)?(?:([\w$*\s{},]*?)\s*from\s*)?(['"])([^'"\n]+)\3|\bimport\(\s*(['"])([^'"\n]+)\5\s*\)|\bnew\s+URL\(\s*(['"])(\.[^'"\n]+\.ts)\7\s*,\s*import\.meta\.url/g

function findImports(path: string, uncommented: string): Import[] {
  return [...uncommented.matchAll(IMPORT)].map(match => {
    const specifier = match[4] ?? match[6] ?? match[8] ?? ''
    const names = match[2] ?? ''
    const allTypes = /^\{\s*type\s[^,]*(,\s*type\s[^,]*)*,?\s*\}$/.test(names.trim())
    return {
      specifier,
      typeOnly: match[1] !== undefined || allTypes,
      target: specifier.startsWith('.') ? join(dirname(path), specifier) : undefined,
    }
  })
}

/** A small lexer: enough of TypeScript to distinguish code from comments and quoted text. */
export function blank(text: string): { readonly code: string; readonly uncommented: string } {
  const code = text.split('')
  const uncommented = text.split('')
  const clear = (from: number, to: number, comment: boolean): void => {
    for (let at = from; at < to; at += 1) {
      if (text[at] === '\n') continue
      code[at] = ' '
      if (comment) uncommented[at] = ' '
    }
  }
  /** Open braces inside each `${…}` that the scan is in. */
  const templates: number[] = []
  let previous = ''
  let at = 0
  const quoted = (quote: string): void => {
    const start = at + 1
    at += 1
    while (at < text.length && text[at] !== quote) {
      if (text[at] === '\\') at += 1
      else if (quote === '`' && text[at] === '$' && text[at + 1] === '{') {
        clear(start, at, false)
        at += 2
        templates.push(0)
        return
      }
      at += 1
    }
    clear(start, at, false)
    at += 1
    previous = quote
  }
  while (at < text.length) {
    const char = text[at] ?? ''
    if (text.startsWith('//', at) || text.startsWith('/*', at)) {
      const line = text[at + 1] === '/'
      const end = text.indexOf(line ? '\n' : '*/', at + 2)
      const stop = end < 0 ? text.length : line ? end : end + 2
      clear(at, stop, true)
      at = stop
    } else if (char === "'" || char === '"' || char === '`') quoted(char)
    else if (char === '}' && templates.at(-1) === 0) {
      // The template continues after the brace.
      templates.pop()
      quoted('`')
    } else if (char === '/' && startsRegex(previous)) {
      const start = at
      let inClass = false
      for (at += 1; at < text.length && (text[at] !== '/' || inClass); at += 1) {
        if (text[at] === '\\') at += 1
        else if (text[at] === '[') inClass = true
        else if (text[at] === ']') inClass = false
      }
      at += 1
      clear(start, at, false)
      previous = '/'
    } else {
      if (templates.length > 0 && char === '{') templates[templates.length - 1] = (templates.at(-1) ?? 0) + 1
      if (templates.length > 0 && char === '}') templates[templates.length - 1] = (templates.at(-1) ?? 0) - 1
      if (/[\w$]/.test(char)) {
        const word = /^[\w$]+/.exec(text.slice(at, at + 200))?.[0] ?? char
        previous = word
        at += word.length
      } else {
        if (!/\s/.test(char)) previous = char
        at += 1
      }
    }
  }
  return { code: code.join(''), uncommented: uncommented.join('') }
}

/** True when a slash after this token begins a regular expression and is not a division. */
function startsRegex(previous: string): boolean {
  if (/^(return|typeof|case|in|of|do|else|void|delete|throw|await)$/.test(previous)) return true
  return previous === '' || !/[\w$)\]'"`/]$/.test(previous)
}
