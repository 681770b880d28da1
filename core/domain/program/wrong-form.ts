import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { addressOfBridge } from './bridges.ts'
import {
  type CommandWords,
  isKnownProgram,
  offWindowsPath,
  outOfWindowsShell,
  splitArguments,
  splitCommand,
  unquoted,
  withoutEnding,
} from './command-words.ts'
import { plainWords, shellOperator } from './typed-words.ts'

/** A program or an address in a form that cannot work here, or that works better in another form. */
export interface WrongForm {
  readonly field: 'command' | 'args' | 'cwd' | 'url'
  /** True when it cannot work as it is written. */
  readonly fails: boolean
  /** One sentence with the written form and the reason. */
  readonly detail: string
  /** The fields in the intended form, as a JSON Merge Patch (RFC 7396). Absent where that form is not clear. */
  readonly suggestion?: JsonObject
}

/** The system that the server runs on. */
export interface ServerPlace {
  readonly isWindows: boolean
  /** The home folder that `~` stands for. Absent where nobody should learn it. */
  readonly home?: string
}

const WEB_ADDRESS = /^(?:https?|wss?):\/\/\S+$/i
const HOME = /^(?:~|\$HOME|\$\{HOME\}|%USERPROFILE%|%HOME%)(?=[\\/]|$)/i
/** Longest text of a field that is looked at: a longer one is refused for its length. */
const LONGEST = 4_096
/** Shells and quotes around each other, at most. */
const ROUNDS = 4
const SHOWN = 160

/** The wrong form in a flat body of a server; undefined when there is none. Takes time proportional to the body. */
export function wrongForm(body: JsonObject, place: ServerPlace): WrongForm | undefined {
  const form = ofCommand(body, place) ?? ofFolder(body, place) ?? ofAddress(body, place)
  const { suggestion } = form ?? {}
  const changesKind = suggestion?.command === null || suggestion?.url === null
  // A transport that was named for the other kind of server is found out again.
  if (!form || !changesKind || body.transport === undefined || suggestion.transport !== undefined) return form
  return { ...form, suggestion: { ...suggestion, transport: null } }
}

/** The findings of the steps that rewrite a command. */
class Findings {
  readonly reasons: string[] = []
  field: 'command' | 'args' = 'args'
  fails = false
  /** False when the right form is not clear. */
  isKnown = true

  add(reason: string, fails = true): void {
    this.field = 'command'
    this.#push(reason, fails)
  }

  addOfArguments(reason: string): void {
    this.#push(reason, false)
  }

  #push(reason: string, fails: boolean): void {
    if (!this.reasons.includes(reason)) this.reasons.push(reason)
    this.fails ||= fails
  }
}

function ofCommand(body: JsonObject, place: ServerPlace): WrongForm | undefined {
  const { command, args = [], env } = body
  if (typeof command !== 'string' || command.trim() === '' || command.length > LONGEST) return undefined
  if (!Array.isArray(args) || !args.every(word => typeof word === 'string')) return undefined
  const found = new Findings()
  const written: CommandWords = { words: [command.trim(), ...args], variables: {} }
  if (WEB_ADDRESS.test(command.trim())) {
    found.add('an address belongs in "url"')
    return formOf(found, command, { command: null, ...gone(body, 'args'), url: command.trim() })
  }
  const { words, variables } = atHome(rewritten(written, place, found, body), place, found, body)
  const address = addressOfBridge({ ...body, command: words[0] ?? '', args: [...words.slice(1)] })
  if (address) {
    found.add('it only connects to an address, and the hub does that itself', false)
    return formOf(found, command, {
      command: null,
      ...gone(body, 'args'),
      ...gone(body, 'env'),
      ...addressFields(address),
    })
  }
  if (found.reasons.length === 0) return undefined
  const [program = '', ...rest] = words
  if (program === '') found.isKnown = false
  const suggestion: Record<string, JsonValue> = { command: program, args: rest }
  if (Object.keys(variables).length > 0) suggestion.env = { ...(isJsonObject(env) ? env : {}), ...variables }
  return formOf(found, command, suggestion)
}

function addressFields({ url, transport, headers }: JsonObject): JsonObject {
  return {
    ...(url === undefined ? {} : { url }),
    ...(transport === undefined ? {} : { transport }),
    ...(headers === undefined ? {} : { headers }),
  }
}

function formOf({ reasons, field, fails, isKnown }: Findings, written: string, suggestion: JsonObject): WrongForm {
  const detail = `The command ${shown(written)} ${fails ? 'cannot be started' : 'can be written better'}: ${reasons.join('; ')}`
  return { field, fails, detail, ...(isKnown ? { suggestion } : {}) }
}

/** Quotes, arguments in the command, and what only Windows has, taken away in turn. */
function rewritten(written: CommandWords, place: ServerPlace, found: Findings, body: JsonObject): CommandWords {
  let now = written
  for (let round = 0; round < ROUNDS; round += 1) {
    const next = oneStep(now, place, found, body)
    if (!next) break
    now = next
  }
  const split = splitArguments(now)
  if (!split) return now
  found.addOfArguments('its arguments stand in one text: each is an item of "args"')
  return split
}

function oneStep(now: CommandWords, place: ServerPlace, found: Findings, body: JsonObject): CommandWords | undefined {
  const plain = typed(now, found)
  if (plain) return plain
  const bare = unquoted(now)
  if (bare) {
    found.add('the quotes count as part of the name, since no shell reads them')
    return bare
  }
  if (!place.isWindows) {
    const named = offWindowsPath(now)
    if (named) {
      found.add('it is a path of Windows, and the hub runs on another system')
      found.isKnown &&= named.known
      return named
    }
    const inside = outOfWindowsShell(now)
    if (inside) {
      found.add('it is a shell of Windows: give the program that it should start as "command"')
      return inside
    }
    const short = withoutEnding(now)
    if (short) {
      found.add(`"${short.ending}" is an ending of programs for Windows`, short.sure)
      return short
    }
  }
  const inShell = place.isWindows ? undefined : forShell(now, found)
  if (inShell) return inShell
  const split = splitCommand(now)
  if (!split) return undefined
  const [program = '', ...rest] = split.words.slice(0, split.words.length - now.words.length + 1)
  found.add(
    `"command" is the program alone: write ${shown(program)} there${rest.length === 0 ? '' : `, and ${shown(rest.join(' '))} as items of "args"`}`,
    split.sure,
  )
  return body.env === undefined || isJsonObject(body.env) ? split : now
}

function typed(now: CommandWords, found: Findings): CommandWords | undefined {
  const plain = plainWords(now)
  if (!plain) return undefined
  const reason = 'it has quotes or dashes of printed texts, not those of a keyboard'
  if (plain.inCommand) found.add(reason)
  else found.addOfArguments(reason)
  return plain
}

function forShell(
  { words: [line = '', ...others], variables }: CommandWords,
  found: Findings,
): CommandWords | undefined {
  const operator = others.length === 0 ? shellOperator(line) : undefined
  if (operator === undefined) return undefined
  found.add(`no shell reads it, so that "${operator}" is no operator: name a shell as the program`)
  return { words: ['sh', '-c', line], variables }
}

/** Replaces the home folder at the beginning of the words, which only a shell does. */
function atHome(
  { words, variables }: CommandWords,
  place: ServerPlace,
  found: Findings,
  body: JsonObject,
): CommandWords {
  const own = isJsonObject(body.variables) ? body.variables : {}
  const replaced = words.map((word, at) => {
    const start = HOME.exec(word)?.[0]
    if (start === undefined || (start.startsWith('${') && Object.hasOwn(own, 'HOME'))) return word
    if (at === 0) found.add(`no shell reads it, so that "${start}" stays as it is: write the whole path`)
    else found.addOfArguments(`its arguments hold "${start}", which no shell replaces: write the whole path`)
    if (place.home === undefined) found.isKnown = false
    return `${place.home ?? ''}${word.slice(start.length)}`
  })
  return { words: replaced, variables }
}

function ofFolder({ cwd }: JsonObject, place: ServerPlace): WrongForm | undefined {
  if (typeof cwd !== 'string' || cwd.length > LONGEST) return undefined
  const start = HOME.exec(cwd)?.[0]
  const isWindowsPath = !place.isWindows && /^[A-Za-z]:[\\/]/.test(cwd)
  if (start === undefined && !isWindowsPath) return undefined
  const why = isWindowsPath
    ? 'it is a path of Windows, and the hub runs on another system'
    : `"${start}" is not replaced, since no shell reads it: write the whole path`
  const whole = start === undefined || place.home === undefined ? undefined : `${place.home}${cwd.slice(start.length)}`
  return {
    field: 'cwd',
    fails: true,
    detail: `The folder ${shown(cwd)} cannot be used: ${why}`,
    ...(whole === undefined ? {} : { suggestion: { cwd: whole } }),
  }
}

const LOCAL_HOST = /^(?:localhost|127\.|10\.|192\.168\.|\[::1\]|0\.0\.0\.0)/i

/** A host, with its port and path, without a scheme. */
const BARE_HOST = /^(?:[\w-]+(?:\.[\w-]+)+|localhost|\[[\da-f:]+\])(?::\d{1,5})?(?:[/?]\S*)?$/i

/** A command as the address, or an address without its scheme. */
function ofAddress(body: JsonObject, place: ServerPlace): WrongForm | undefined {
  const { url } = body
  if (typeof url !== 'string' || body.command !== undefined || body.openapi !== undefined) return undefined
  if (url.trim() === '' || url.length > LONGEST) return undefined
  const bare = withoutQuotes(url.trim())
  const at = (why: string, suggestion?: JsonObject): WrongForm => ({
    field: 'url',
    fails: true,
    detail: `The address ${shown(url)} cannot be used: ${why}`,
    ...(suggestion === undefined ? {} : { suggestion }),
  })
  if (WEB_ADDRESS.test(bare)) return bare === url.trim() ? undefined : at('leave out the quotes', { url: bare })
  const [first = '', ...more] = bare.split(/\s+/)
  if (isKnownProgram(first) || /^(?:\.{0,2}|~)\//.test(first))
    return at('it is a program, which belongs in "command"', asProgram(bare, place, body))
  if (more.length > 0 || !BARE_HOST.test(bare)) return undefined
  const scheme = LOCAL_HOST.test(bare) ? 'http' : 'https'
  return at(`write ${scheme}:// before it`, { url: `${scheme}://${bare}` })
}

function withoutQuotes(text: string): string {
  return /^(["'])(.*)\1$/s.exec(text)?.[2] ?? text
}

function asProgram(line: string, place: ServerPlace, body: JsonObject): JsonObject {
  const { words, variables } = rewritten({ words: [line], variables: {} }, place, new Findings(), body)
  const [command = '', ...args] = words
  const env = Object.keys(variables).length === 0 ? {} : { env: { ...variables } }
  return { url: null, command, args, ...env }
}

function gone(body: JsonObject, field: string): JsonObject {
  return body[field] === undefined ? {} : { [field]: null }
}

function shown(text: string): string {
  return JSON.stringify(text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text)
}
