import type { JsonObject, JsonValue } from 'patchbay/contract'
import type { ImportSource } from 'patchbay/features'
import { type Found, isObject, milliseconds, nameRest, part } from './fields.ts'

const KNOWN = new Set(['source', 'enabled', 'command', 'args', 'env', 'url', 'headers', 'timeout'])

/** `settings.json` of Zed: the map `context_servers`, whose command may be an object of its own. */
export const zed: ImportSource = {
  label: 'Zed',
  places: [
    { os: 'mac', path: '~/.config/zed/settings.json' },
    { os: 'linux', path: '~/.config/zed/settings.json' },
    { os: 'windows', path: '%APPDATA%/Zed/settings.json' },
  ],
  off: { field: 'enabled', value: false },
  reads: document => isObject(document) && isObject(document.context_servers),
  read(document) {
    const found: Found = { servers: [], notCarried: [] }
    const map = isObject(document) && isObject(document.context_servers) ? document.context_servers : {}
    for (const [name, entry] of Object.entries(map)) readEntry(found, name, entry)
    nameProfiles(found, isObject(document) ? document : {})
    return found
  },
}

function readEntry(found: Found, name: string, entry: JsonValue): void {
  const pointer = `#/context_servers/${part(name)}`
  if (!isObject(entry)) {
    found.servers.push({ name, pointer, body: {}, problem: 'The entry is not an object' })
    return
  }
  const body = bodyOf(entry)
  if (body.command === undefined && body.url === undefined) {
    const what = `the server "${name.slice(0, 64)}" of an extension`
    found.notCarried.push({ pointer, what, instead: 'The extension starts it; add the command that it runs.' })
    return
  }
  found.servers.push({ name, pointer, body })
  nameRest(found, pointer, entry, KNOWN)
}

/** Seconds; its versions of 2025 had milliseconds, with 60,000 as the default. */
function waited(timeout: JsonValue): JsonValue {
  return typeof timeout === 'number' && timeout > 3_600 ? timeout : milliseconds(timeout)
}

/** A profile of the agent chooses tools of servers. */
function nameProfiles(found: Found, { agent }: JsonObject): void {
  const profiles = isObject(agent) && isObject(agent.profiles) ? agent.profiles : {}
  for (const [name, profile] of Object.entries(profiles)) {
    if (!isObject(profile) || !isObject(profile.context_servers)) continue
    found.notCarried.push({
      pointer: `#/agent/profiles/${part(name)}/context_servers`,
      what: `the tools of the profile "${name.slice(0, 64)}"`,
      instead: 'Make a group with the tools that it may use.',
    })
  }
}

function bodyOf(entry: JsonObject): JsonObject {
  const { url, headers, enabled, timeout } = entry
  const inner = isObject(entry.command) ? entry.command : entry
  const { args, env } = inner
  const wait = inner.timeout ?? timeout
  const command = isObject(entry.command) ? entry.command.path : entry.command
  return {
    ...(command === undefined ? {} : { command }),
    ...(args === undefined ? {} : { args }),
    ...(env === undefined || env === null ? {} : { env }),
    ...(url === undefined ? {} : { url }),
    ...(headers === undefined ? {} : { headers }),
    ...(enabled === undefined ? {} : { enabled }),
    ...(wait === undefined || wait === null ? {} : { timeout: waited(wait) }),
  }
}
