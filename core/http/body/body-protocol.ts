import type { SwitchAnswer, SwitchJob } from '../../config/client-file/file-text.ts'
import type { ImportedDocument } from '../../config/import/document.ts'
import type { TextFormat, TextValue } from '../../config/import-text.ts'
import type { EntryFields } from '../../config/shape/entry-fields.ts'
import type { ErrorCode, HubErrorOptions } from '../../contract/errors.ts'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import type { JsonLimits } from '../../domain/json/json-guard.ts'
import type { DocumentFacts } from '../../domain/server/document-facts.ts'
import type { DocumentCheck, DocumentText } from '../../domain/server/documents.ts'

/** One job for the worker. */
export type BodyJob =
  | { readonly kind: 'body'; readonly chunks: readonly Uint8Array[]; readonly limits: JsonLimits }
  | { readonly kind: 'import'; readonly document: JsonValue; readonly fields: EntryFields }
  | { readonly kind: 'text'; readonly text: string; readonly format: TextFormat }
  | { readonly kind: 'switch-off'; readonly file: SwitchJob }
  | ({ readonly kind: 'document' } & DocumentText)

/**
 * The worker's answer to a job: a value with the facts of its inline documents (for an import per entry), the kind of a
 * document, the content of an imported file's text, such a text with servers off, a rejection, or a failure of the worker itself.
 */
export type BodyAnswer =
  | { readonly value: JsonObject; readonly documents: readonly DocumentFacts[] }
  | { readonly imported: ImportedDocument; readonly documents: readonly (readonly DocumentFacts[])[] }
  | { readonly check: DocumentCheck }
  | { readonly text: TextValue }
  | { readonly switched: SwitchAnswer }
  | { readonly error: { readonly code: ErrorCode; readonly message: string; readonly options: HubErrorOptions } }
  | { readonly failure: string }
