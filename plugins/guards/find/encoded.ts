import { base64Parts } from './base64.ts'
import { hexParts } from './hex.ts'
import type { Encoded } from './types.ts'

const MOST_DEPTH = 2
/** Characters of the shortest part: fewer hold no secret. */
const SHORTEST = 24

/** The parts that are text in base 64 or hexadecimal. `depth`: of this text, since encoded texts may hold encoded ones. */
export function encodedParts(text: string, depth: number): readonly Encoded[] {
  return text.length < SHORTEST || depth >= MOST_DEPTH ? [] : [...base64Parts(text), ...hexParts(text)]
}
