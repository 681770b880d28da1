import { bundledMain } from '../../deploy/bundle.ts'
import { BUILT_HUB } from './extent.ts'

/** What Bun runs as the hub: the sources as they are now, in few files. */
export const HUB_MAIN = process.env[BUILT_HUB] ?? (await bundledMain())
