/** One small MCP server, in the languages of the runtimes that servers are written in. Each is an argument of its runtime. */

const INFO = { capabilities: { tools: {} }, serverInfo: { name: 'small', version: '1' } }
const TOOLS = [{ name: 'work', inputSchema: { type: 'object', properties: { how: { type: 'string' } } } }]

/** For Node.js, Bun and Deno: `work` uses files, a child process, a thread, a timer and a connection of its own. */
export const JAVASCRIPT = `
const [fs, cp, http, readline, { Worker }] = await Promise.all(['fs', 'child_process', 'http', 'readline', 'worker_threads'].map(n => import('node:' + n)))
async function work() {
  fs.writeFileSync('note', 'a'); fs.renameSync('note', 'note2')
  const said = cp.execFileSync('/bin/echo', ['b']).toString().trim()
  const worker = new Worker('import("node:worker_threads").then(({ parentPort }) => parentPort.postMessage("c"))', { eval: true })
  const threaded = await new Promise((ok, no) => { worker.once('message', ok); worker.once('error', no) })
  const server = http.createServer((_, answer) => answer.end('d'))
  await new Promise(done => server.listen(0, '127.0.0.1', done))
  const fetched = await (await fetch('http://127.0.0.1:' + server.address().port)).text()
  await new Promise(done => setTimeout(done, 5))
  server.close(); await worker.terminate()
  return fs.readFileSync('note2', 'utf8') + said + threaded + fetched
}
readline.createInterface({ input: process.stdin }).on('line', async line => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  const result = method === 'initialize' ? { protocolVersion: params.protocolVersion, ...${JSON.stringify(INFO)} }
    : method === 'tools/list' ? { tools: ${JSON.stringify(TOOLS)} }
    : method === 'tools/call' ? { content: [{ type: 'text', text: await work().catch(error => String(error.stack)) }] } : {}
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n')
})`

/** For Python: `work` does the same or, on request, closes its input or output and keeps running. */
export const PYTHON = `
import json, os, sqlite3, subprocess, sys, threading, time
def work(how):
    if how == 'close-output':
        os.close(1); time.sleep(3600)
    if how == 'close-input':
        return 'closing'
    open('note', 'w').write('a'); box = []
    thread = threading.Thread(target=lambda: box.append('c')); thread.start(); thread.join()
    db = sqlite3.connect('small.db'); db.execute('create table if not exists t(a)'); db.commit()
    return open('note').read() + subprocess.run(['/bin/echo', 'b'], capture_output=True, text=True).stdout.strip() + box[0] + 'd'
for line in iter(sys.stdin.readline, ''):
    message = json.loads(line); method = message.get('method'); how = ''
    if 'id' not in message: continue
    result = {}
    if method == 'initialize': result = {'protocolVersion': message['params']['protocolVersion'], **json.loads('${JSON.stringify(INFO)}')}
    if method == 'tools/list': result = {'tools': json.loads('${JSON.stringify(TOOLS)}')}
    if method == 'tools/call':
        how = message['params']['arguments'].get('how', '')
        result = {'content': [{'type': 'text', 'text': work(how)}]}
    print(json.dumps({'jsonrpc': '2.0', 'id': message['id'], 'result': result}), flush=True)
    if how == 'close-input':
        os.close(0); time.sleep(3600)
`
