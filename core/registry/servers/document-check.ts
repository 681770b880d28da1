import type { FieldError } from '../../contract/errors.ts'
import { isJsonObject, type JsonObject } from '../../contract/json.ts'
import type { Actor } from '../../contract/records.ts'
import { type ParsedServerBody, serverInvalid } from '../../domain/server/body.ts'
import { attachFacts } from '../../domain/server/document-facts.ts'
import type { DocumentJudgement } from '../../domain/server/documents.ts'
import { withStoredDocument } from '../../domain/server/openapi.ts'
import type { RegistryDeps } from '../context.ts'
import type { NewDocument } from './documents.ts'
import { type Draft, draftServer, type Stored } from './server-draft.ts'

/**
 * The draft of a body, its document judged. `actor` is who waits for it. Throws `validation_failed` with all invalid fields;
 * what is wrong with a document in YAML is told when nothing else is.
 */
export async function judgedDraft(
  deps: Pick<RegistryDeps, 'sealer' | 'judgeDocument' | 'transports'>,
  actor: Actor,
  body: JsonObject,
  stored: Stored | undefined,
): Promise<Draft> {
  const draft = draftServer(deps, body, stored)
  const judgement = await judge(deps, draft, actor.kind === 'user' ? actor.userId : '')
  if (!judgement) return draft
  const judged = withJudgement(draft, judgement)
  if ('problem' in judged) throw serverInvalid([judged.problem], body)
  // The same body is drafted twice by an import: once for its verdict, once to be saved.
  const pointer = isJsonObject(body.openapi) ? '/openapi' : '/config/openapi'
  if ('known' in judgement) attachFacts(body, [{ ...judgement.known, pointer }])
  return judged
}

async function judge(
  { judgeDocument }: Pick<RegistryDeps, 'judgeDocument'>,
  { filled, document }: Draft,
  sender: string,
): Promise<DocumentJudgement | undefined> {
  // A document whose servers are known has been judged by the thread that read the body.
  if (typeof document?.value !== 'string' || document.servers || !judgeDocument) return undefined
  const { openapi } = filled
  const hasBaseUrl = isJsonObject(openapi) && openapi.baseUrl !== undefined
  return judgeDocument({ text: document.value, hasBaseUrl }, sender)
}

/** The parsed body with what is known of its document, or the document's problem. */
export function withJudgement<P extends ParsedServerBody & { readonly document?: NewDocument }>(
  parsed: P,
  judgement: DocumentJudgement,
): P | { readonly problem: FieldError } {
  if ('problem' in judgement) {
    const { field, code, detail } = judgement.problem
    return { problem: { pointer: `#/openapi/${field}`, code, detail } }
  }
  const { known } = judgement
  const { settings, filled, document } = parsed
  return {
    ...parsed,
    settings: { ...settings, config: withStoredDocument(settings.config, known) },
    filled: withStoredDocument(filled, known),
    ...(document ? { document: { ...document, ...known } } : {}),
  }
}
