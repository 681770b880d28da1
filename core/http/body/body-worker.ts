/** A worker that parses large bodies and checks documents, since one of them would block the main thread for everybody. */
import { Buffer } from 'node:buffer'
import { switchOff } from '../../config/client-file/file-text.ts'
import { importText } from '../../config/import/document.ts'
import { placeInDocument } from '../../config/import/entry.ts'
import { parseImportText } from '../../config/import-text.ts'
import { HubError } from '../../contract/errors.ts'
import { parseJsonObject, refuseMore } from '../../domain/json/json-guard.ts'
import { checkDocumentText, documentsAsText } from '../../domain/server/documents.ts'
import { validationError } from '../../domain/validation-error.ts'
import type { BodyAnswer, BodyJob } from './body-protocol.ts'
import { decodeBody } from './body-text.ts'

declare const self: Worker

self.onmessage = ({ data }: MessageEvent<BodyJob>): void => {
  void answer(data).then(found => self.postMessage(found))
}

async function done(job: BodyJob): Promise<BodyAnswer> {
  if (job.kind === 'text') return { text: await parseImportText(job.text, job.format) }
  if (job.kind === 'switch-off') return { switched: switchOff(job.file) }
  if (job.kind === 'document') return { check: await checkDocumentText(job) }
  return job.kind === 'body' ? readBody(job) : readImport(job)
}

async function answer(job: BodyJob): Promise<BodyAnswer> {
  try {
    return await done(job)
  } catch (error) {
    if (!(error instanceof HubError)) return { failure: error instanceof Error ? error.message : String(error) }
    // An Error that crosses a port keeps only its message.
    const { code, message, data, errors, hint } = error
    return {
      error: {
        code,
        message,
        options: { ...(data ? { data } : {}), ...(errors ? { errors } : {}), ...(hint ? { hint } : {}) },
      },
    }
  }
}

function readBody({ chunks, limits }: BodyJob & { readonly kind: 'body' }): BodyAnswer {
  const {
    value,
    problems: found,
    documents,
  } = documentsAsText(parseJsonObject(decodeBody(Buffer.concat(chunks)), limits))
  // The problems of an import are reported with its entries.
  const problems = found.filter(({ pointer }) => /^#\/(?:config\/)?openapi\//.test(pointer))
  const tooLarge = problems.find(problem => problem.code === 'openapi_too_large')
  if (tooLarge) throw new HubError('openapi_too_large', tooLarge.detail, { errors: [tooLarge] })
  if (problems.length > 0) throw validationError(problems, 'The server cannot be saved')
  if (limits.copied !== undefined) refuseMore(value, limits.copied)
  return { value, documents }
}

async function readImport({ document, fields }: BodyJob & { readonly kind: 'import' }): Promise<BodyAnswer> {
  const text = typeof document === 'string' ? document : JSON.stringify(document)
  const { entries } = await importText(text, fields)
  const read = entries.map(entry => {
    const { value, problems, documents } = documentsAsText(entry.body)
    const [first] = problems
    if (first) {
      const { code, detail: message } = first
      const problem = { code, message, pointer: placeInDocument(entry, first.pointer) }
      return { entry: { name: entry.name, body: {}, problem }, documents: [] }
    }
    return { entry: { ...entry, body: value }, documents }
  })
  return { imported: { entries: read.map(({ entry }) => entry) }, documents: read.map(({ documents }) => documents) }
}
