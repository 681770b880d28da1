import type { Registry } from '../registry/api.ts'
import type { OpenAttached } from '../registry/attached.ts'

/** Version of the file that `POST /api/export` returns; files of lower versions can always be read. */
export const EXPORT_VERSION = 1
/** The purpose for which its secrets are sealed. */
export const EXPORT_SECRETS = 'patchbay export, secrets'
/** A user's own settings that mean the same in every hub. */
export const EXPORT_SETTINGS = ['language', 'theme'] as const

/** The registries that an export reads. */
export interface ExportRegistry
  extends Pick<Registry, 'servers' | 'groups' | 'shares' | 'settings' | 'users' | 'teams' | 'keys'> {
  readonly attached: OpenAttached
}

/** Records a secret with its place, and returns the mark that replaces it in the file. */
export type Keep = (value: string, pointer: string) => string

const SECRET = /^<secret:(\/.*)>$/s

/** The placeholder for a secret. */
export function secretAt(pointer: string): string {
  return `<secret:${pointer}>`
}

/** The pointer of the secret in whose place a text stands; undefined for any other text. */
export function secretPlace(text: string): string | undefined {
  return SECRET.exec(text)?.[1]
}
