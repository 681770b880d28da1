import { type FieldError, isJsonObject, type JsonObject } from 'patchbay/contract'

/** A mail server, once its configuration was checked. */
export interface MailServer {
  readonly host: string
  /** Default 465 with `secure`, else 587. */
  readonly port?: number
  /** TLS from the first byte. Default: true for port 465. */
  readonly secure?: boolean
  readonly auth?: { readonly user: string; readonly pass: string }
  /** True to send the password even if the server does not offer TLS. Default false. */
  readonly allowInsecureAuth?: boolean
  /** Certificates (PEM) to trust instead of the system's. */
  readonly ca?: string
}

/** A channel's configuration, once it was checked. */
export interface EmailConfig {
  /** Absent: the server of the plugin's own configuration. */
  readonly smtp?: MailServer
  readonly recipients: readonly string[]
  /** Default: the user name if it is an address, else `patchbay@` and the server's name. */
  readonly from?: string
}

/** The plugin's block of the settings, once it was checked. */
export interface EmailPluginConfig {
  /** For channels that name no server. */
  readonly smtp?: MailServer
  readonly from?: string
  /** Ordinary users have channels by this server, with recipients of their choice. Default false. */
  readonly allowUsers?: boolean
}

const MOST_RECIPIENTS = 50
const LONGEST_ADDRESS = 254
const LONGEST_CA = 65_536
/** One mailbox only: a line break, a comma or `<` could add further recipients. */
const ADDRESS = /^[^\s\p{Cc}<>,;:"()[\]\\@]+@[^\s\p{Cc}<>,;:"()[\]\\@]+$/u
const HOST = /^[a-z0-9](?:[a-z0-9.:-]*[a-z0-9])?$/i

type Check = (value: unknown, pointer: string) => readonly FieldError[]

/** Every wrong field of a channel's `config`; `needsServer`: true if the plugin has no server. */
export function checkConfig(config: JsonObject, needsServer: boolean): readonly FieldError[] {
  return [
    ...members(config, '#', { smtp: checkSmtp, recipients: checkRecipients, from: checkAddress }),
    ...missing(config, '#', needsServer ? ['smtp', 'recipients'] : ['recipients']),
  ]
}

/** Every wrong field of the plugin's block of the settings. */
export function checkPluginConfig(config: JsonObject): readonly FieldError[] {
  const errors = members(config, '#', { smtp: checkSmtp, from: checkAddress, allowUsers: checkBoolean })
  return config.allowUsers === true ? [...errors, ...missing(config, '#', ['smtp'])] : errors
}

/** True when this is one address of a mailbox. */
export function isAddress(text: string): boolean {
  return text.length <= LONGEST_ADDRESS && ADDRESS.test(text)
}

function checkSmtp(smtp: unknown, pointer: string): readonly FieldError[] {
  if (!isJsonObject(smtp)) return [wrong(pointer, 'type', '"smtp" must be an object with host, port and auth')]
  const errors = [
    ...members(smtp, pointer, {
      host: text(HOST, 253, 'a host name or an IP address'),
      port: checkPort,
      secure: checkBoolean,
      auth: checkAuth,
      allowInsecureAuth: checkBoolean,
      ca: text(/-----BEGIN CERTIFICATE-----/, LONGEST_CA, 'certificates in PEM'),
    }),
    ...missing(smtp, pointer, ['host']),
  ]
  return errors
}

function checkAuth(auth: unknown, pointer: string): readonly FieldError[] {
  if (!isJsonObject(auth)) return [wrong(pointer, 'type', '"auth" must be an object with user and pass')]
  const word = text(/^[^\p{Cc}]+$/u, 1_024, 'a text without control characters')
  return [...members(auth, pointer, { user: word, pass: word }), ...missing(auth, pointer, ['user', 'pass'])]
}

function checkRecipients(recipients: unknown, pointer: string): readonly FieldError[] {
  if (!Array.isArray(recipients)) return [wrong(pointer, 'type', '"recipients" must be an array of addresses')]
  if (recipients.length === 0 || recipients.length > MOST_RECIPIENTS)
    return [wrong(pointer, 'length', `1 to ${MOST_RECIPIENTS} recipients`)]
  return recipients.flatMap((address, at) => checkAddress(address, `${pointer}/${at}`))
}

const checkAddress: Check = (value, pointer) =>
  typeof value === 'string' && isAddress(value)
    ? []
    : [wrong(pointer, 'email_invalid', 'One address such as ops@example.com, without a name')]

const checkPort: Check = (value, pointer) =>
  Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 65_535
    ? []
    : [wrong(pointer, 'range', 'A port is a whole number from 1 to 65535')]

const checkBoolean: Check = (value, pointer) =>
  typeof value === 'boolean' ? [] : [wrong(pointer, 'type', 'true or false')]

function text(pattern: RegExp, most: number, what: string): Check {
  return (value, pointer) => {
    if (typeof value !== 'string') return [wrong(pointer, 'type', `A text: ${what}`)]
    return value.length <= most && pattern.test(value) ? [] : [wrong(pointer, 'format', `This must be ${what}`)]
  }
}

function members(object: JsonObject, pointer: string, checks: Readonly<Record<string, Check>>): readonly FieldError[] {
  return Object.entries(object).flatMap(([name, value]) => {
    const at = `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined
    return check?.(value, at) ?? [wrong(at, 'unknown_field', `Known here: ${Object.keys(checks).join(', ')}`)]
  })
}

function missing(object: JsonObject, pointer: string, names: readonly string[]): readonly FieldError[] {
  const absent = names.filter(name => !Object.hasOwn(object, name))
  return absent.map(name => wrong(`${pointer}/${name}`, 'required', `"${name}" is missing`))
}

function wrong(pointer: string, code: FieldError['code'], detail: string): FieldError {
  return { pointer, code, detail }
}
