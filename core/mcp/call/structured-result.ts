import type { UpstreamReply } from '../../connections/api.ts'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { isPlainObject, parseExact } from '../../domain/json/exact-json.ts'
import { itemJson } from '../../domain/tools/catalog-item.ts'
import { mayHaveOutputSchema, type OutputSchemas, outputSchemasOf } from '../../domain/tools/output-schema.ts'
import type { Target } from '../scope/scope-types.ts'
import type { Outcome } from './exchange.ts'

/**
 * A tool's result with structured content where the tool has an output schema, since validating clients reject the result
 * without it. A text that is a JSON object is that content; where output schemas are `loose`, any other text becomes its
 * member `result`. Failures need none.
 */
export function withStructure({ member, item }: Target, reply: UpstreamReply, outcome: Outcome): Outcome {
  if (outcome.kind !== 'result' || reply.kind !== 'result' || reply.isError) return outcome
  if (!item || !mayHaveOutputSchema(item) || outcome.resultText.includes('"structuredContent"')) return outcome
  const mode = outputSchemasOf(member.server)
  if (mode === 'off' || !isPlainObject(itemJson(item).outputSchema)) return outcome
  const result = parseExact(String(outcome.resultText))
  if (!isPlainObject(result) || !Array.isArray(result.content) || result.structuredContent !== undefined) return outcome
  const structuredContent = structureOf(result.content, mode)
  if (!structuredContent) return outcome
  return { kind: 'result', resultText: JSON.stringify({ ...result, structuredContent }) }
}

function structureOf(content: readonly JsonValue[], mode: OutputSchemas): JsonObject | undefined {
  const texts = content.flatMap(block =>
    isPlainObject(block) && block.type === 'text' && typeof block.text === 'string' ? [block.text] : [],
  )
  const value = texts.length === 1 ? asJson(texts[0] ?? '') : undefined
  if (isPlainObject(value)) return value
  if (mode !== 'loose') return undefined
  return texts.length === 0 ? {} : { result: value ?? texts.join('\n') }
}

/** The value of a JSON text; undefined for any other text. */
function asJson(text: string): JsonValue | undefined {
  if (!/^\s*[[{"]/.test(text)) return undefined
  try {
    return parseExact(text)
  } catch {
    return undefined
  }
}
