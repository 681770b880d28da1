import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A new folder, with a path without symlinks. The caller removes it with `removeTemp`. */
export async function makeTemp(name: string): Promise<string> {
  return realpath(await mkdtemp(join(tmpdir(), `patchbay-${name}-`)))
}

export async function removeTemp(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true, maxRetries: 3 })
}
