import type { JsonObject } from '../../contract/json.ts'

/** The tool by which a client reads on; listed in groups with a limit alone. */
export const READ_RESULT = 'patchbay_read_result'

export const READ_RESULT_ITEM: JsonObject = {
  name: READ_RESULT,
  description: 'Reads on in a result that was cut because it was long. Takes the handle that stands where it was cut.',
  inputSchema: { type: 'object', properties: { handle: { type: 'string' } }, required: ['handle'] },
  annotations: { readOnlyHint: true, openWorldHint: false },
}
