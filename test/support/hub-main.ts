import { join } from 'node:path'

/** What Bun runs as the hub. */
export const HUB_MAIN = join(import.meta.dir, '../../core/main.ts')
