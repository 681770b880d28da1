import { bundledMain } from '../../deploy/bundle.ts'

/** What Bun runs as the hub: the sources as they are now, in few files. */
export const HUB_MAIN = await bundledMain()
