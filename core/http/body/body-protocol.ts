import type { ImportedDocument } from '../../config/import-document.ts'
import type { ErrorCode, HubErrorOptions } from '../../contract/errors.ts'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import type { JsonLimits } from '../../domain/json/json-guard.ts'
import type { DocumentFacts } from '../../domain/server/document-facts.ts'

/** One body for the thread. */
export type BodyJob =
  | { readonly kind: 'body'; readonly bytes: Uint8Array; readonly limits: JsonLimits }
  | { readonly kind: 'import'; readonly document: JsonValue }

/**
 * What the thread says to a job: a value with what is known of its inline documents (of an import entry by entry), a refusal,
 * or a fault of its own.
 */
export type BodyAnswer =
  | { readonly value: JsonObject; readonly documents: readonly DocumentFacts[] }
  | { readonly imported: ImportedDocument; readonly documents: readonly (readonly DocumentFacts[])[] }
  | { readonly error: { readonly code: ErrorCode; readonly message: string; readonly options: HubErrorOptions } }
  | { readonly failure: string }
