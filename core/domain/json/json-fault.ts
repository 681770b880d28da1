import { visit } from 'jsonc-parser'

/** What is wrong with a JSON text, and where. Line and column count from 1. */
export interface JsonFault {
  readonly line: number
  readonly column: number
  readonly what: string
}

/** What is wrong first with a text that JSON.parse refuses. */
export function jsonFault(text: string): JsonFault {
  let found: JsonFault | undefined
  visit(
    text,
    {
      onError: (code, _offset, _length, line, column) => {
        found ??= { line: line + 1, column: column + 1, what: jsonPhrase(code) }
      },
    },
    { disallowComments: true },
  )
  return found ?? { line: 1, column: 1, what: 'something that is no JSON' }
}

/** For the end of a sentence: `line 3, column 7: a colon was expected`. */
export function shownFault({ line, column, what }: JsonFault): string {
  return `line ${line}, column ${column}: ${what}`
}

const PHRASES: Readonly<Record<number, string>> = {
  2: 'a number is not complete',
  3: 'a key in double quotes was expected',
  4: 'a value was expected',
  5: 'a colon was expected',
  6: 'a comma was expected',
  7: 'a closing brace "}" was expected',
  8: 'a closing bracket "]" was expected',
  9: 'nothing more was expected',
  10: 'a comment is no part of JSON',
  11: 'a comment is not closed',
  12: 'a string is not closed',
  13: 'a number is not complete',
  14: 'a \\u escape is not valid',
  15: 'an escape in a string is not valid',
  16: 'a control character in a string is not escaped',
}

/** The parser's own enumeration of errors is ambient constants, which a single-file compiler cannot read. */
export function jsonPhrase(error: number): string {
  return PHRASES[error] ?? 'something that is no JSON'
}
