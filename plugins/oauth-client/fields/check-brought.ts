import { type FieldError, isJsonObject, type JsonObject } from 'patchbay/contract'
import { checkHeaders, quoteName } from 'patchbay/plugin-kit'

/** Headers that name a browser's session or a way of the request, and no credential of a person. */
const NO_HEADERS: ReadonlySet<string> = new Set([
  'cookie',
  'cookie2',
  'set-cookie',
  'origin',
  'referer',
  'forwarded',
  'via',
])
const MOST_NAME = 128

/**
 * Variables that make a program run other code, reach other hosts or find other programs. The owner of a server may set them; a
 * value of a user may not be one of them.
 */
const NO_VARIABLES: readonly RegExp[] = [
  /^(?:PATH|HOME|USER|SHELL|IFS|ENV|PWD|TMPDIR|TEMP|TMP|LANG|TZ|EDITOR|VISUAL|PAGER|BROWSER|SSLKEYLOGFILE)$/,
  /^(?:LD|DYLD|LC|GCONV|MALLOC|GLIBC|BASH|PS\d|PROMPT|XDG|PATCHBAY)_|^SHELLOPTS$|^BASHOPTS$/,
  /^(?:NODE|BUN|DENO|NPM|PYTHON|PERL|RUBY|JAVA|JDK|DOTNET|PHP|LUA|CARGO|GEM_|PIP_|UV_|CLASSPATH|CURL|WGET|OPENSSL|SSL_)(?!.*(?:KEY|TOKEN|SECRET|PASSWORD)$)/,
  /^(?:GIT_|SSH_|GO(?:PATH|ROOT|FLAGS|PROXY|ENV|DEBUG|BIN)$)(?!.*(?:TOKEN|SECRET|PASSWORD)$)/,
  /(?:^|_)(?:PROXY|OPTIONS|OPTS)$/,
]

type Report = (error: FieldError) => void

/** Validates the values that a server asks its users for, with `command` or `url` beside them. */
export function checkBrought(config: JsonObject): readonly FieldError[] {
  if (!Array.isArray(config.bring)) return []
  const errors: FieldError[] = []
  const report: Report = error => errors.push(error)
  const seen = new Set<string>()
  const once = (text: string, pointer: string): void => {
    if (seen.has(text)) report({ pointer, code: 'duplicate', detail: 'Another value has the same one' })
    seen.add(text)
  }
  for (const [index, field] of config.bring.entries()) {
    const at = `#/bring/${index}`
    if (!isJsonObject(field)) continue
    const { name, key, format = '{value}' } = field
    const isVariable = field.in === 'env'
    if (config[isVariable ? 'command' : 'url'] === undefined) report({ pointer: `${at}/in`, ...FOREIGN })
    const check = isVariable ? checkVariable : checkHeader
    check(String(key), `${at}/key`, report)
    once(`name ${name}`, `${at}/name`)
    once(`${field.in} ${isVariable ? key : String(key).toLowerCase()}`, `${at}/key`)
    if (String(format).split('{value}').length !== 2)
      report({ pointer: `${at}/format`, code: 'format', detail: '"format" must have {value} once' })
  }
  return errors
}

const FOREIGN = {
  code: 'field_not_for_transport',
  detail: 'Only a program has an environment, and only a server with an address has headers',
} as const

function checkVariable(key: string, pointer: string, report: Report): void {
  const isName = /^[A-Za-z_][A-Za-z0-9_]*$/.test(key) && key.length <= MOST_NAME
  if (isName && !NO_VARIABLES.some(pattern => pattern.test(key.toUpperCase()))) return
  const detail = `${quoteName(key)} cannot be a variable with a value of a user`
  report({ pointer, code: 'env_key_invalid', detail })
}

function checkHeader(key: string, pointer: string, report: Report): void {
  checkHeaders({ [key]: 'value' }, pointer, error => report({ ...error, pointer }))
  if (NO_HEADERS.has(key.toLowerCase()) || /^(?:x-forwarded-|sec-|proxy-|mcp-)/i.test(key))
    report({ pointer, code: 'header_reserved', detail: `${quoteName(key)} cannot be a header with a value of a user` })
}
