import type { FieldError } from '../../contract/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { parseOpenApiText } from '../../transport-kit/openapi-text.ts'
import { pointerToken } from '../json/json-pointer.ts'
import { type DocumentFacts, documentFacts } from './document-facts.ts'
import {
  asDocumentProblem,
  DOCUMENT,
  type DocumentProblem,
  documentProblem,
  jsonDocument,
  type StoredDocument,
} from './openapi.ts'

/** An inline document as a text, in JSON or YAML. */
export interface DocumentText {
  readonly text: string
  /** True when the server has the address of the API in its own settings. */
  readonly hasBaseUrl: boolean
}

/** The problem of an inline document, or its facts. */
export type DocumentCheck = { readonly problem: DocumentProblem } | { readonly known: StoredDocument }

/** Checks a document that was sent as a text. Takes seconds for some megabytes of YAML: call it in a worker. */
export async function checkDocumentText({ text, hasBaseUrl }: DocumentText): Promise<DocumentCheck> {
  try {
    const document = (await parseOpenApiText(text)) as JsonObject
    const problem = documentProblem(document, text, hasBaseUrl)
    if (problem) return { problem }
    const { pointer: _, ...known } = documentFacts(document, text, '')
    return { known }
  } catch (error) {
    return { problem: asDocumentProblem(error) }
  }
}

/**
 * Replaces every inline OpenAPI document in a body with its JSON text, and returns the documents' problems and facts. A
 * text of many megabytes is cheap to pass around, but each walk over an object takes time proportional to its size.
 * This function takes that time itself: call it in a worker.
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
