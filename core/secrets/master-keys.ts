import { Buffer } from 'node:buffer'
import { rename, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { HubConfig } from '../config/schema.ts'
import { StartError } from '../config/start-error.ts'
import { KEY_BYTES, keepUnder, makeKeyFile, readKeyFile, replaceKeyFile } from './key-file.ts'
import { kidOf } from './seal.ts'

/** One key that seals secrets at rest. */
export interface MasterKey {
  /** The key id written into every text that it seals. */
  readonly kid: string
  readonly key: Uint8Array
  /** The environment variable, or the file of the data folder, that holds it. */
  readonly from: 'MASTER_KEY' | 'MASTER_KEY_OLD' | typeof KEY_FILE | typeof OLD_KEY_FILE
}

const KEY_FILE = 'master.key'
const OLD_KEY_FILE = 'master.key.old'

/** Master keys from the environment; they outrank the key files. */
export type GivenKeys = Pick<HubConfig, 'masterKey' | 'masterKeyOld'>

/**
 * The available keys, the sealing one first: MASTER_KEY or else `master.key`; then, during a rotation, the previous
 * one: MASTER_KEY_OLD, `master.key.old`, or `master.key` when MASTER_KEY has replaced it. None, one or two. Throws
 * StartError master_key_invalid for a file that holds no key.
 */
export async function readMasterKeys(dataDir: string, given: GivenKeys): Promise<readonly MasterKey[]> {
  const fromFile = async (from: typeof KEY_FILE | typeof OLD_KEY_FILE): Promise<MasterKey[]> => {
    const key = await readKeyFile(join(dataDir, from))
    return key ? [{ kid: kidOf(key), key, from }] : []
  }
  const current = await fromFile(KEY_FILE)
  const old = await fromFile(OLD_KEY_FILE)
  const candidates = [
    ...fromEnvironment('MASTER_KEY', given.masterKey),
    ...(given.masterKey === undefined ? current : []),
    ...fromEnvironment('MASTER_KEY_OLD', given.masterKeyOld),
    ...old,
    ...current,
  ]
  return candidates
    .filter(({ kid }, index) => candidates.findIndex(candidate => candidate.kid === kid) === index)
    .slice(0, 2)
}

/** True when the hub has generated its own key in this folder, which it does after it has first opened its database. */
export async function hasMasterKeyFile(dataDir: string): Promise<boolean> {
  return (await readKeyFile(join(dataDir, KEY_FILE))) !== undefined
}

function fromEnvironment(from: 'MASTER_KEY' | 'MASTER_KEY_OLD', text: string | undefined): MasterKey[] {
  if (text === undefined) return []
  // Node's base64 decoder accepts both alphabets.
  const key = Buffer.from(text, /^[0-9A-Fa-f]{64}$/.test(text) ? 'hex' : 'base64')
  if (key.length !== KEY_BYTES) throw new StartError('master_key_invalid', `${from} has not ${KEY_BYTES} bytes`)
  return [{ kid: kidOf(key), key, from }]
}

/**
 * The keys to run with. `stored`: ids of the keys that sealed stored values. Creates `master.key` when there is no key
 * and nothing is sealed. Throws StartError master_key_missing when a value was sealed with an absent key, so that the
 * hub never continues under a new key by mistake; `acceptLoss` starts it anyway.
 */
export async function openMasterKeys(
  dataDir: string,
  given: GivenKeys,
  stored: ReadonlySet<string>,
  acceptLoss: boolean,
): Promise<readonly MasterKey[]> {
  const keys = await readMasterKeys(dataDir, given)
  const missing = [...stored].filter(kid => !keys.some(key => key.kid === kid))
  if (missing.length > 0 && !acceptLoss) throw new StartError('master_key_missing', missingText(missing, keys, dataDir))
  if (keys.length > 0) return keys
  const key = await makeKeyFile(join(dataDir, KEY_FILE))
  return [{ kid: kidOf(key), key, from: KEY_FILE }]
}

function missingText(missing: readonly string[], keys: readonly MasterKey[], dataDir: string): string {
  const present = keys.map(({ kid, from }) => `${kid} (${from})`).join(' and ') || 'none'
  return (
    `Stored secrets are sealed with key ${missing.join(', ')}, and the keys given are: ${present}. ` +
    `Nothing was changed. Give the key back as MASTER_KEY, MASTER_KEY_OLD or ${join(dataDir, KEY_FILE)}; ` +
    'if it is lost, ACCEPT_LOST_SECRETS=true starts the hub, and those secrets must be entered again'
  )
}

/**
 * The keys to re-seal everything with: two, or one when there is nothing to rotate. When the key is the hub's own file,
 * a new one replaces it and the old one is kept as `master.key.old`; an interrupted rotation continues with its keys.
 */
export async function beginRotation(dataDir: string, given: GivenKeys): Promise<readonly MasterKey[]> {
  const present = await readMasterKeys(dataDir, given)
  const file = join(dataDir, KEY_FILE)
  if (present.length !== 1 || present[0]?.from !== KEY_FILE) return present
  await keepUnder(file, join(dataDir, OLD_KEY_FILE))
  await replaceKeyFile(file)
  return readMasterKeys(dataDir, given)
}

/** Removes the old key that the hub kept itself; call it once everything is sealed with the first key. */
export async function endRotation(dataDir: string): Promise<void> {
  await unlink(join(dataDir, OLD_KEY_FILE)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
}

/**
 * Replaces this hub's key with that of another hub. Until `putAsideOldKey`, the previous key still decrypts its values. Throws
 * StartError while a rotation is running, as a hub has no more than two keys.
 */
export async function takeMasterKey(dataDir: string, key: Uint8Array): Promise<void> {
  const [file, old] = [join(dataDir, KEY_FILE), join(dataDir, OLD_KEY_FILE)]
  if ((await readKeyFile(old)) !== undefined) {
    throw new StartError('master_key_invalid', `There is a ${old}: finish "patchbay secrets rotate" first`)
  }
  if ((await readKeyFile(file)) !== undefined) await keepUnder(file, old)
  await replaceKeyFile(file, key)
}

/** Moves the old key of the hub into another folder, if there is one. */
export async function putAsideOldKey(dataDir: string, folder: string): Promise<void> {
  await rename(join(dataDir, OLD_KEY_FILE), join(folder, KEY_FILE)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
}
