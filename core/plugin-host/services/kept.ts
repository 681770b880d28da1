import { existsSync } from 'node:fs'
import { mkdir, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { JsonValue } from '../../contract/json.ts'
import type { PluginSettings } from '../../contract/kept.ts'
import type { SystemActor } from '../../contract/records.ts'
import type { PluginSecrets, SecretPlace } from '../../features/services/sealing.ts'
import type { SettingRegistry } from '../../registry/api.ts'

/** The registry that stores values and secrets of plugins. */
export type KeptIn = Pick<
  SettingRegistry,
  | 'user'
  | 'setUser'
  | 'setPlugin'
  | 'openUserSecret'
  | 'userSecretInfo'
  | 'pluginScope'
  | 'setSystemSecret'
  | 'openSystemSecret'
  | 'systemSecretInfo'
>

/** The places of secrets and files that hubs stored for a plugin before plugins had places of their own. */
export interface FormerPlaces {
  /** The hub's secrets of the plugin are among the hub's own. */
  readonly system?: true
  /** Prefix of the keys of users' secrets. */
  readonly userPrefix?: string
  /** The plugin's folder, in the data folder. */
  readonly folder?: string
  /** The plugin's folder, which stays where it is in the data folder. The plugin makes it. */
  readonly stays?: string
}

const KEY = /^[A-Za-z0-9_-]{1,64}$/
const MOST_CHARACTERS = 65_536

/** The values of a plugin, in the store. `requireWriting`: throws Error for a plugin that may store nothing any more. */
export function pluginSettings(plugin: string, kept: () => KeptIn, requireWriting: () => void): PluginSettings {
  const prefix = userPrefix(plugin)
  return {
    hub: async () => kept().user(kept().pluginScope(plugin)),
    async setHub(values) {
      requireWriting()
      checkValues(values)
      await kept().setPlugin(plugin, values)
    },
    async user(userId) {
      const all = Object.entries(await kept().user(userId))
      return Object.fromEntries(
        all.filter(([key]) => key.startsWith(prefix)).map(([key, value]) => [key.slice(prefix.length), value]),
      )
    },
    async setUser(userId, values) {
      requireWriting()
      checkValues(values)
      const own = Object.entries(values).map(([key, value]) => [`${prefix}${key}`, value])
      await kept().setUser(actorOf(plugin), userId, Object.fromEntries(own))
    },
  }
}

/** The secrets of a plugin, sealed in the store. `requireWriting`: as of its settings. */
export function pluginSecrets(
  plugin: string,
  kept: () => KeptIn,
  { requireWriting, former = {} }: { readonly requireWriting: () => void; readonly former?: FormerPlaces | undefined },
): PluginSecrets {
  const place = (scope: string, key: string, put: (value: string | null) => Promise<void>): SecretPlace => ({
    async put(value) {
      requireWriting()
      checkLength(value ?? '')
      await put(value)
    },
    open: () => kept().openUserSecret(scope, key),
    describe: async () => (await kept().userSecretInfo(scope, key))[key],
  })
  return {
    hub(key) {
      checkKey(key)
      if (former.system) return systemPlace(plugin, key, kept(), requireWriting)
      return place(kept().pluginScope(plugin), key, value => kept().setPlugin(plugin, {}, { [key]: value }))
    },
    user(userId, key) {
      checkKey(key)
      const own = `${former.userPrefix ?? userPrefix(plugin)}${key}`
      return place(userId, own, value => kept().setUser(actorOf(plugin), userId, {}, { [own]: value }))
    },
  }
}

function systemPlace(plugin: string, key: string, kept: KeptIn, requireWriting: () => void): SecretPlace {
  return {
    async put(value) {
      requireWriting()
      await kept.setSystemSecret(actorOf(plugin), key, value)
    },
    open: () => kept.openSystemSecret(key),
    describe: () => kept.systemSecretInfo(key),
  }
}

/** The folder of a plugin, which is made when it is asked for. A former one is moved there. */
export async function pluginFolder(dataDir: string, plugin: string, former: FormerPlaces = {}): Promise<string> {
  if (former.stays !== undefined) return join(dataDir, former.stays)
  const folder = join(dataDir, 'plugins', plugin)
  if (former.folder !== undefined) await moveFolder(join(dataDir, former.folder), folder)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  return folder
}

async function moveFolder(from: string, to: string): Promise<void> {
  if (!existsSync(from) || existsSync(to)) return
  await mkdir(dirname(to), { recursive: true, mode: 0o700 })
  await rename(from, to)
}

function userPrefix(plugin: string): string {
  return `plugin.${plugin}.`
}

function actorOf(plugin: string): SystemActor {
  return { kind: 'system', purpose: `plugin ${plugin}` }
}

function checkValues(values: Readonly<Record<string, JsonValue | null>>): void {
  for (const [key, value] of Object.entries(values)) {
    checkKey(key)
    checkLength(JSON.stringify(value))
  }
}

function checkKey(key: string): void {
  if (!KEY.test(key)) throw new TypeError(`"${key.slice(0, 64)}" is no key: letters, digits, "_" and "-", at most 64`)
}

function checkLength(text: string): void {
  if (text.length > MOST_CHARACTERS)
    throw new RangeError(
      `A value that a plugin keeps has at most ${MOST_CHARACTERS} characters, and this has ${text.length}`,
    )
}
