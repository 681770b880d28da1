import { copyFile, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf, writeFileAtomically } from '../../config/atomic-write.ts'
import type { BackedUpSettings } from './backup-file.ts'

/** The settings file of a backup, before it is put in place. */
export interface SettingsToPut {
  /** True when another file is in its place. */
  readonly differs: boolean
  /** Puts it in place; a file that differs is copied into the folder `aside` first. */
  put(aside: string): Promise<void>
}

/** Compares the settings file of a backup with that at `path`. Without one in the backup there is nothing to do. */
export async function putSettings(path: string, settings: BackedUpSettings | undefined): Promise<SettingsToPut> {
  if (!settings) return { differs: false, put: async () => {} }
  const present = await readFile(path, 'utf8').catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  })
  const differs = present !== undefined && present !== settings.text
  return {
    differs,
    async put(aside) {
      if (present === undefined) {
        const part = `${path}.part`
        await writeFile(part, settings.text, { mode: 0o600, flush: true })
        await rename(part, path)
      } else if (differs) {
        await copyFile(path, join(aside, 'mcp_settings.json'))
        await writeFileAtomically(path, settings.text, aside)
      }
    },
  }
}
