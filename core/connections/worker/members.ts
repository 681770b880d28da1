import { stringEnd } from '../../domain/json/json-depth.ts'

/** One member of a JSON object as written in its text. */
export interface Member {
  readonly key: string
  /** Where its key begins and its value ends. */
  readonly from: number
  readonly to: number
  readonly valueFrom: number
}

/** The members of the outermost object, in order. `json` must be a valid JSON object. */
export function members(json: string): readonly Member[] {
  const found: Member[] = []
  let depth = 0
  let key: string | undefined
  let from = -1
  let valueFrom = -1
  for (let at = 0; at < json.length; at += 1) {
    const char = json.charCodeAt(at)
    if (char === 34) {
      const close = stringEnd(json, at)
      if (depth === 1 && valueFrom === -1) {
        key = JSON.parse(json.slice(at, close + 1)) as string
        from = at
      }
      at = close
    } else if (char === 58 && depth === 1 && valueFrom === -1) {
      valueFrom = at + 1
    } else if (char === 123 || char === 91) {
      depth += 1
    } else if (char === 125 || char === 93 || (char === 44 && depth === 1)) {
      if (depth === 1 && valueFrom !== -1 && key !== undefined) {
        found.push({ key, from, to: at, valueFrom })
        valueFrom = -1
      }
      if (char !== 44) depth -= 1
    }
  }
  return found
}
