/** Tries every cell and writes docs/reference/compatibility.md. `bun test/compatibility/write.ts` after a change. */
import { OLDER_UPSTREAMS, UPSTREAMS } from './axes.ts'
import { runMatrix } from './matrix.ts'
import { compatibilityPage, PAGE } from './page.ts'
import { startWorld } from './upstreams.ts'

const world = await startWorld([...UPSTREAMS, ...OLDER_UPSTREAMS])
try {
  await Bun.write(PAGE, compatibilityPage(await runMatrix(world)))
} finally {
  await world.stop()
}
