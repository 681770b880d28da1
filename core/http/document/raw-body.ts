/** The body of an operation that takes a file. */
export const RAW_BODY = { required: true, content: { 'application/octet-stream': {} } }
