import type { OpenAttached } from '../../registry/attached.ts'
import type { TogetherParts } from '../../registry/create.ts'
import type { MovingKinds } from '../../registry/owned/moving.ts'

/** The parts of the hub that a rollback uses. */
export interface RollbackParts extends TogetherParts {
  readonly records: ReturnType<MovingKinds>
  readonly attached: OpenAttached
}
