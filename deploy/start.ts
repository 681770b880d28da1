/** Runs the hub from what `deploy/bundle.ts` builds, and from its sources where nothing can be built or written. */
import { bundledMain } from './bundle.ts'
import { MAIN, ROOT } from './modules.ts'

const sources = `${ROOT}/${MAIN}`
// Not awaited at top level: see `core/main.ts`.
void bundledMain()
  .catch(() => sources)
  .then(main => import(main))
