import { Buffer } from 'node:buffer'
import { unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { HubConfig } from '../config/schema.ts'
import { StartError } from '../config/start-error.ts'
import { KEY_BYTES, keepUnder, makeKeyFile, readKeyFile, replaceKeyFile } from './key-file.ts'
import { kidOf } from './seal.ts'

/** One key that seals secrets at rest. */
export interface MasterKey {
  /** What it is called in the texts that it sealed. */
  readonly kid: string
  readonly key: Uint8Array
  /** The environment variable, or the file of the data folder, that holds it. */
  readonly from: 'MASTER_KEY' | 'MASTER_KEY_OLD' | typeof KEY_FILE | typeof OLD_KEY_FILE
}

const KEY_FILE = 'master.key'
const OLD_KEY_FILE = 'master.key.old'

export type GivenKeys = Pick<HubConfig, 'masterKey' | 'masterKeyOld'>

/**
 * The keys that are there, the one that seals first: MASTER_KEY or else `master.key`; then, while keys are exchanged, the
 * previous one: MASTER_KEY_OLD, `master.key.old`, or `master.key` when MASTER_KEY has taken its place. None, one or two.
 * Throws StartError master_key_invalid for a file that holds no key.
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

/** Whether a hub has made its own key here, which it does once it has opened its first database. */
export async function hasMasterKeyFile(dataDir: string): Promise<boolean> {
  return (await readKeyFile(join(dataDir, KEY_FILE))) !== undefined
}

function fromEnvironment(from: 'MASTER_KEY' | 'MASTER_KEY_OLD', text: string | undefined): MasterKey[] {
  if (text === undefined) return []
  // Of base64 both alphabets are read alike.
  const key = Buffer.from(text, /^[0-9A-Fa-f]{64}$/.test(text) ? 'hex' : 'base64')
  if (key.length !== KEY_BYTES) throw new StartError('master_key_invalid', `${from} has not ${KEY_BYTES} bytes`)
  return [{ kid: kidOf(key), key, from }]
}

/**
 * The keys to run with. `stored`: which keys sealed what is stored. Makes `master.key` when there is no key and nothing to
 * open. Throws StartError master_key_missing when something was sealed with a key that is not there, so that nobody goes on
 * under a new key by mistake; `acceptLoss` lets the hub start without it.
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
    'if it is lost, ACCEPT_LOST_SECRETS=true starts the hub, and those secrets must be entered anew'
  )
}

/**
 * The keys for sealing everything anew: two of them, or one when there is nothing to exchange. Where the key is a file of the
 * hub's own, a new one takes its place and the old one stays as `master.key.old`; where an exchange was begun before, its
 * keys are taken up again.
 */
export async function beginRotation(dataDir: string, given: GivenKeys): Promise<readonly MasterKey[]> {
  const present = await readMasterKeys(dataDir, given)
  const file = join(dataDir, KEY_FILE)
  if (present.length !== 1 || present[0]?.from !== KEY_FILE) return present
  await keepUnder(file, join(dataDir, OLD_KEY_FILE))
  await replaceKeyFile(file)
  return readMasterKeys(dataDir, given)
}

/** Everything is sealed with the first key: the old one that the hub itself had kept goes. */
export async function endRotation(dataDir: string): Promise<void> {
  await unlink(join(dataDir, OLD_KEY_FILE)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
}
