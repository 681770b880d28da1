/** The suite's client leg starts this program for each scenario, 25 to 31 of them at once; they take turns where it is set. */
import { takeTurn } from './turns.ts'

const { CONFORMANCE_TURNS: turns } = process.env
const endTurn = turns === undefined ? undefined : await takeTurn(turns)
try {
  await import('./client-through-hub.ts')
} finally {
  endTurn?.()
}
