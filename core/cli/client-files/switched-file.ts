import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { chmod, copyFile, readFile, realpath, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { codeOf, writeFileAtomically } from '../../config/atomic-write.ts'
import { CommandError } from '../arguments.ts'
import { copiesOf } from './connect-file.ts'

/**
 * The text of a file that is to be changed, with its byte order mark. Throws CommandError for one that cannot be read, is not
 * UTF-8, or is read-only.
 */
export async function readOriginal(file: string): Promise<string> {
  const bytes = await readFile(file).catch((error: unknown) => {
    throw new CommandError(`Cannot read "${file}": ${codeOf(error) || String(error)}`, { cause: error })
  })
  const { mode } = await stat(file)
  if ((mode & 0o200) === 0) {
    throw new CommandError(`config_read_only: ${file} is read-only: make it writable, or import without --switch-off`)
  }
  return decoded(bytes, file)
}

function decoded(bytes: Uint8Array, file: string): string {
  try {
    // The mark stays, so that the bytes are the same when the text is written.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw new CommandError(`config_unreadable: ${file} is not UTF-8: switch its servers off by hand`, { cause })
  }
}

/**
 * Replaces the text of a client's file, after a copy beside it, whose name has the import and a hash of the new text. Links are
 * followed, and the mode stays. Returns the copy. Throws CommandError when the file is not as it was read.
 */
export async function writeSwitched(file: string, before: string, after: string, importId: string): Promise<string> {
  const target = await realpath(file)
  const now = await readOriginal(target)
  if (now !== before)
    throw new CommandError(`config_changed: ${file} was changed meanwhile: nothing was switched off in it`)
  const time = new Date().toISOString().replaceAll(/[:.]/g, '-')
  const copy = `${target}.patchbay-${time}-off-${shortId(importId)}-${hashOf(after)}.bak`
  try {
    await copyFile(target, copy, constants.COPYFILE_EXCL)
    await chmod(copy, 0o600)
    await replace(target, after)
  } catch (error) {
    await rm(copy, { force: true })
    throw new CommandError(`Cannot write "${file}": ${codeOf(error) || String(error)}`, { cause: error })
  }
  return copy
}

async function replace(target: string, text: string): Promise<void> {
  const { mode } = await stat(target)
  await writeFileAtomically(target, text, dirname(target))
  // It holds no new secret, and others may read it.
  await chmod(target, mode & 0o777)
}

/** Outcome of bringing a file back. `changed`: it is not as the import left it, so it stays. */
export interface Restored {
  readonly file: string
  readonly copy: string
  readonly outcome: 'restored' | 'changed'
}

/**
 * Brings a file back as it was before the newest import that switched servers off in it, byte by byte, unless it was changed
 * since. `importId`: only what this import did. Undefined when there is no copy.
 */
export async function restore(file: string, importId?: string): Promise<Restored | undefined> {
  const copies = (await copiesOf(file)).flatMap(copy => switchedCopy(copy) ?? [])
  const found = copies.find(({ id }) => importId === undefined || id === shortId(importId))
  if (!found) return undefined
  const { copy, hash } = found
  const now = await readFile(file).catch(() => undefined)
  if (now === undefined || hashOf(now) !== hash) return { file, copy, outcome: 'changed' }
  try {
    await replace(await realpath(file), decoded(await readFile(copy), copy))
  } catch (error) {
    if (error instanceof CommandError) throw error
    throw new CommandError(`Cannot write "${file}": ${codeOf(error) || String(error)}`, { cause: error })
  }
  await rm(copy)
  return { file, copy, outcome: 'restored' }
}

function switchedCopy(copy: string): { readonly copy: string; readonly id: string; readonly hash: string } | undefined {
  const [, id, hash] = /-off-([0-9a-f]{8})-([0-9a-f]{16})\.bak$/.exec(copy) ?? []
  return id === undefined || hash === undefined ? undefined : { copy, id, hash }
}

function shortId(importId: string): string {
  return importId.replaceAll('-', '').slice(0, 8)
}

function hashOf(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex').slice(0, 16)
}
