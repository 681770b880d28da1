import { randomBytes } from 'node:crypto'
import type { JsonObject, JsonValue } from '../contract/json.ts'
import { CommandError, OUTPUT, readArguments, readVerb, UsageError } from './arguments.ts'
import { run as secondFactorOff } from './at-rest/second-factor-off.ts'
import { HubClient } from './client.ts'
import type { CommandIo } from './io.ts'
import { plain, printJson, printTable } from './output.ts'

/** The text of `patchbay user --help`. */
export const help = `patchbay user list [--json]
patchbay user add <name> [--admin] [--password-stdin] [--json]
patchbay user password <name> [--password-stdin]
patchbay user disable|enable <name>
patchbay user second-factor-off <name>
patchbay user remove <name> [--transfer-to name | --cascade]

Administrators only. Without --password-stdin a password is made and printed once, and the user must change it.

second-factor-off is for somebody who has lost the second factor and cannot ask an administrator: the hub must be stopped, and
the password is enough afterwards.

  --password-stdin     read the password from standard input; a line feed at its end does not count
  --transfer-to name   who gets the user's servers and groups
  --cascade            remove them with the user
`

const VERBS = ['list', 'add', 'password', 'disable', 'enable', 'remove', 'second-factor-off'] as const

/** Returns the exit code. */
export async function run(argv: readonly string[], io: CommandIo): Promise<number> {
  const { verb, rest } = readVerb(argv, VERBS)
  if (verb === 'list') return list(rest, io)
  if (verb === 'add') return add(rest, io)
  if (verb === 'password') return password(rest, io)
  if (verb === 'remove') return remove(rest, io)
  if (verb === 'second-factor-off') return secondFactorOff(rest, io)
  const { positionals } = readArguments(rest, { options: {}, positionals: ['name'] })
  await (await HubClient.connect(io)).send('PATCH', path(positionals[0]), { disabled: verb === 'disable' })
  io.stdout(plain(`${verb}d ${positionals[0]}\n`))
  return 0
}

const path = (name = '') => `/api/admin/users/${encodeURIComponent(name)}`

async function list(argv: readonly string[], io: CommandIo): Promise<number> {
  const { values } = readArguments(argv, { options: OUTPUT, positionals: [] })
  const users = await (await HubClient.connect(io)).list('/api/admin/users')
  if (values.json) printJson(io, users)
  else printTable(io, ['NAME', 'ROLE', 'STATE', 'SINCE'], users.map(row))
  return 0
}

function row(user: JsonObject): string[] {
  const state =
    user.disabled === true ? 'disabled' : user.mustChangePassword === true ? 'must change password' : 'active'
  return [String(user.name), String(user.role), state, String(user.createdAt)]
}

async function add(argv: readonly string[], io: CommandIo): Promise<number> {
  const { values, positionals } = readArguments(argv, {
    options: { ...OUTPUT, admin: { type: 'boolean' }, 'password-stdin': { type: 'boolean' } },
    positionals: ['name'],
  })
  const secret = await choosePassword(values['password-stdin'] === true, io)
  const user = await (await HubClient.connect(io)).post('/api/admin/users', {
    username: positionals[0] ?? '',
    role: values.admin ? 'admin' : 'user',
    ...secret.body,
  })
  if (values.json) printJson(io, { ...user, ...(secret.made === undefined ? {} : { password: secret.made }) })
  else io.stdout(`added ${String(user.name)}\n${secretLine(secret)}`)
  return 0
}

async function password(argv: readonly string[], io: CommandIo): Promise<number> {
  const { values, positionals } = readArguments(argv, {
    options: { 'password-stdin': { type: 'boolean' } },
    positionals: ['name'],
  })
  const secret = await choosePassword(values['password-stdin'] === true, io)
  await (await HubClient.connect(io)).send('PATCH', path(positionals[0]), secret.body)
  io.stdout(`changed the password of ${positionals[0]}; all its sessions have ended\n${secretLine(secret)}`)
  return 0
}

interface ChosenPassword {
  readonly body: Readonly<Record<string, JsonValue>>
  /** Generated here, so it must be printed. */
  readonly made?: string
}

async function choosePassword(fromStdin: boolean, io: CommandIo): Promise<ChosenPassword> {
  if (!fromStdin) {
    const made = randomBytes(18).toString('base64url')
    return { body: { password: made, mustChangePassword: true }, made }
  }
  const given = (await io.stdin()).replace(/\r?\n$/, '')
  if (given === '') throw new CommandError('No password came on standard input')
  return { body: { password: given, mustChangePassword: false } }
}

function secretLine({ made }: ChosenPassword): string {
  return made === undefined ? '' : `password: ${made}\n`
}

async function remove(argv: readonly string[], io: CommandIo): Promise<number> {
  const { values, positionals } = readArguments(argv, {
    options: { 'transfer-to': { type: 'string' }, cascade: { type: 'boolean' } },
    positionals: ['name'],
  })
  const transferTo = values['transfer-to']
  if (transferTo !== undefined && values.cascade) throw new UsageError('either --transfer-to or --cascade, not both')
  const query = new URLSearchParams()
  if (transferTo !== undefined) query.set('transferTo', transferTo)
  if (values.cascade) query.set('cascade', 'true')
  const rest = query.size === 0 ? '' : `?${query}`
  await (await HubClient.connect(io)).send('DELETE', `${path(positionals[0])}${rest}`)
  io.stdout(plain(`removed ${positionals[0]}\n`))
  return 0
}
