import { bundledMain } from '../../deploy/bundle.ts'
import { BUILT_HUB } from './extent.ts'

/** The hub's entry for Bun: the present sources, bundled into few files. */
export const HUB_MAIN = process.env[BUILT_HUB] ?? (await bundledMain())
