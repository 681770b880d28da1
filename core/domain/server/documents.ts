import type { FieldError } from '../../contract/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { pointerToken } from '../json/json-pointer.ts'
import { type DocumentFacts, documentFacts } from './document-facts.ts'
import { DOCUMENT, documentProblem, jsonDocument } from './openapi.ts'

/**
 * A body in which every inline OpenAPI document is its JSON text, what is wrong with the documents, and what is known of them. A text of many
 * megabytes costs little to carry about, whereas each look at an object costs time with its size. Takes that time itself:
 * call it where it holds up nobody.
 */
export function documentsAsText(body: JsonObject): {
  readonly value: JsonObject
  readonly problems: readonly FieldError[]
  readonly documents: readonly DocumentFacts[]
} {
  const problems: FieldError[] = []
  const documents: DocumentFacts[] = []
  const validate = (document: JsonObject, text: string, at: string, block: JsonObject): void => {
    const problem = documentProblem(document, text, Object.hasOwn(block, 'baseUrl'))
    if (!problem) return
    const { field, code, detail } = problem
    problems.push({ pointer: `#${at.slice(0, -'/schema'.length)}/${field}`, code, detail })
  }
  const walk = (value: JsonValue, pointer: string): JsonValue => {
    if (Array.isArray(value)) return value.map((item, index) => walk(item, `${pointer}/${index}`))
    if (!isJsonObject(value)) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => {
        const at = `${pointer}/${pointerToken(name)}`
        if (!at.endsWith(DOCUMENT)) return [name, walk(item, at)]
        const document = typeof item === 'string' ? jsonDocument(item) : item
        if (!isJsonObject(document)) return [name, item]
        const text = typeof item === 'string' ? item : JSON.stringify(document)
        validate(document, text, at, value)
        documents.push(documentFacts(document, text, at.slice(0, -'/schema'.length)))
        return [name, text]
      }),
    )
  }
  return { value: walk(body, '') as JsonObject, problems, documents }
}
