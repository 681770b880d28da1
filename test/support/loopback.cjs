// Preloaded into programs that listen on every interface unless told otherwise: a server that names no host gets localhost.
const http = require('node:http')
const listen = http.Server.prototype.listen

http.Server.prototype.listen = function (first, ...rest) {
  if (first !== null && typeof first === 'object' && 'port' in first) {
    return listen.call(this, { host: 'localhost', ...first }, ...rest)
  }
  const isPort = first === undefined || typeof first === 'number' || (typeof first === 'string' && /^\d+$/.test(first))
  if (!isPort || typeof rest[0] === 'string') return listen.call(this, first, ...rest)
  if (typeof first === 'function') return listen.call(this, 0, 'localhost', first)
  return listen.call(this, first ?? 0, 'localhost', ...rest.filter(value => value !== undefined))
}
