import type { FieldError } from '../../contract/errors.ts'
import { isJsonObject, type JsonObject } from '../../contract/json.ts'
import type { Actor } from '../../contract/records.ts'
import { canonical } from '../../domain/json/canonical-json.ts'
import { type ParsedServerBody, serverInvalid } from '../../domain/server/body.ts'
import { attachFacts } from '../../domain/server/document-facts.ts'
import type { DocumentCheck } from '../../domain/server/documents.ts'
import { withStoredDocument } from '../../domain/server/openapi.ts'
import type { RegistryDeps } from '../context.ts'
import type { NewDocument } from './documents.ts'
import { type Draft, draftServer, type Stored } from './server-draft.ts'
import { findingOf, withFinding } from './server-form.ts'

/**
 * Returns the draft of a body after checking its document. `actor`: the user who waits for it. Throws `validation_failed` with
 * all invalid fields; errors in a YAML document are reported only if there are no others.
 */
export async function checkedDraft(
  deps: Pick<RegistryDeps, 'sealer' | 'checkDocument' | 'transports'>,
  actor: Actor,
  body: JsonObject,
  stored: Stored | undefined,
): Promise<Draft> {
  const draft = formedDraft(deps, actor, body, stored)
  const check = await checkTextDocument(deps, draft, actor.kind === 'user' ? actor.userId : '')
  if (!check) return draft
  const checked = withDocumentCheck(draft, check)
  if ('problem' in checked) throw serverInvalid([checked.problem], body)
  // The same body is drafted twice by an import: once for its verdict, once to be saved.
  const pointer = isJsonObject(body.openapi) ? '/openapi' : '/config/openapi'
  if ('known' in check) attachFacts(body, [{ ...check.known, pointer }])
  return checked
}

/** Throws `validation_failed` too for a program in a form that cannot work, unless it is stored so. */
function formedDraft(
  deps: Pick<RegistryDeps, 'sealer' | 'transports'>,
  actor: Actor,
  body: JsonObject,
  stored: Stored | undefined,
): Draft {
  const finding = findingOf(actor, body)
  try {
    const draft = draftServer(deps, body, stored)
    if (finding?.fails && !isStoredSo(draft, stored)) throw serverInvalid([finding.error], body)
    return draft
  } catch (error) {
    throw withFinding(error, finding, body)
  }
}

/** True when the program is the stored one: a change of another field is not refused for it. */
function isStoredSo({ settings }: Draft, stored: Stored | undefined): boolean {
  const program = ({ config }: Draft['settings']): string =>
    canonical([config.command ?? null, config.args ?? null, config.cwd ?? null])
  return stored !== undefined && program(settings) === program(stored.settings)
}

async function checkTextDocument(
  { checkDocument }: Pick<RegistryDeps, 'checkDocument'>,
  { filled, document }: Draft,
  sender: string,
): Promise<DocumentCheck | undefined> {
  // A document with known servers was checked by the thread that parsed the body.
  if (typeof document?.value !== 'string' || document.servers || !checkDocument) return undefined
  const { openapi } = filled
  const hasBaseUrl = isJsonObject(openapi) && openapi.baseUrl !== undefined
  return checkDocument({ text: document.value, hasBaseUrl }, sender)
}

/** Returns the parsed body with the facts of its document, or the document's problem. */
export function withDocumentCheck<P extends ParsedServerBody & { readonly document?: NewDocument }>(
  parsed: P,
  check: DocumentCheck,
): P | { readonly problem: FieldError } {
  if ('problem' in check) {
    const { field, code, detail } = check.problem
    return { problem: { pointer: `#/openapi/${field}`, code, detail } }
  }
  const { known } = check
  const { settings, filled, document } = parsed
  return {
    ...parsed,
    settings: { ...settings, config: withStoredDocument(settings.config, known) },
    filled: withStoredDocument(filled, known),
    ...(document ? { document: { ...document, ...known } } : {}),
  }
}
