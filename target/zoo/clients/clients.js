// Asks with the clients of Node what a plan says, and tells what each made of it. See README.md.
const fs = require('node:fs');
const http = require('node:http');
const https = require('node:https');
const http2 = require('node:http2');
const grpc = require('@grpc/grpc-js');

// The fetch of Node takes the connections of the package, if that is there before it was first used.
fetch('data:,');
const undici = require('undici');

// A client that did not come back after so many times its patience is left behind.
const GUARD = 6;
// So many cases a client is asked at a time.
const AT_ONCE = 2;

// An error that says its own name, and whether it is a lost patience.
const named = (code, late = false) => Object.assign(new Error(code), { code, late });
// How a program hears of the end of a stream that had neither an end nor an error.
const silent = () => named("'close' without a word");

const byHttp = (c) => {
  const secure = c.url.startsWith('https:');
  const agent = new (secure ? https : http).Agent({ keepAlive: true, ca: c.ca });
  return () => new Promise((resolve, reject) => {
    let answered = false;
    const asked = (secure ? https : http).request(c.url, { agent, timeout: c.patience, method: c.method }, (answer) => {
      let size = 0;
      answered = true;
      answer.on('data', (chunk) => { size += chunk.length; });
      answer.on('end', () => resolve(`${answer.statusCode}, ${size} bytes`));
      answer.on('error', reject);
    });
    asked.on('timeout', () => asked.destroy(named("'timeout'", true)));
    asked.on('error', reject);
    asked.on('close', () => { if (!answered) reject(silent()); });
    asked.end(c.body);
  });
};

// The fetch that Node has knows no CA of a program, so TLS and HTTP/2 are asked with the package.
const byFetch = (c) => {
  const own = c.url.startsWith('https:');
  const dispatcher = own ? new undici.Agent({ connect: { ca: c.ca }, allowH2: c.protocol === 'h2' }) : undefined;
  return async () => {
    const answer = await (own ? undici.fetch : fetch)(c.url, {
      dispatcher, signal: AbortSignal.timeout(c.patience), method: c.method, body: c.body,
    });
    return `${answer.status}, ${(await answer.arrayBuffer()).byteLength} bytes`;
  };
};

const byHttp2 = (c) => {
  const session = http2.connect(c.url, { ca: c.ca });
  let broken;
  session.on('error', (e) => { broken = e; });
  return () => new Promise((resolve, reject) => {
    const { pathname } = new URL(c.url);
    const asked = session.request({ ':path': pathname, ':method': c.method });
    let status = 0;
    let size = 0;
    asked.on('response', (head) => { status = head[':status']; });
    asked.on('data', (chunk) => { size += chunk.length; });
    asked.on('end', () => { if (status) resolve(`${status}, ${size} bytes`); });
    asked.on('error', (e) => reject(broken ?? e));
    asked.on('close', () => reject(broken ?? silent()));
    asked.setTimeout(c.patience, () => { reject(named("'timeout'", true)); asked.close(); });
    asked.end(c.body);
  });
};

const byGrpc = (c) => {
  const same = (bytes) => bytes;
  const client = new grpc.Client(new URL(c.url).host, grpc.credentials.createInsecure());
  return () => new Promise((resolve, reject) => {
    client.makeUnaryRequest('/zoo.Prices/Ask', same, same, Buffer.alloc(0), { deadline: Date.now() + c.patience }, (e, answer) => {
      if (!e) return resolve(`OK, ${answer.length} bytes`);
      return reject(named(grpc.status[e.code] ?? 'no code', e.code === grpc.status.DEADLINE_EXCEEDED));
    });
  });
};

const clients = { 'node http': byHttp, 'node fetch (undici)': byFetch, 'node http2': byHttp2, 'grpc-js': byGrpc };

// The name that a program sees: the innermost code, or else the error's name.
const called = (e) => e.cause?.code ?? e.code?.toString() ?? e.name;

const told = async (c) => {
  const late = new Promise((resolve) => { setTimeout(resolve, GUARD * c.patience, ['none', '']).unref(); });
  const asking = async () => {
    try {
      const ask = clients[c.client](c);
      if (c.calls !== '1') await ask();
      const [said] = await Promise.all(c.calls === '1+2' ? [ask(), ask()] : [ask()]);
      return ['answer', said];
    } catch (e) {
      if (e.name === 'TimeoutError') return ['timeout', e.name];
      return [e.late ? 'timeout' : 'error', called(e)];
    }
  };
  const [kind, detail] = await Promise.race([asking(), late]);
  console.log([c.id, kind, detail].join('\t'));
};

// The plan; those with a long patience warm the clients up, and come first.
const plan = fs.readFileSync(process.argv[2], 'utf8').trimEnd().split('\n').map((line) => {
  const [id, client, protocol, patience, calls, bytes, ca, url] = line.split('\t');
  return {
    id, client, protocol, url, patience: Number(patience), calls, ca: ca ? fs.readFileSync(ca) : undefined,
    method: bytes === '0' ? 'GET' : 'POST', body: bytes === '0' ? undefined : 'x'.repeat(Number(bytes)),
  };
});
// A client's own mistakes must not end the others' turns.
process.on('uncaughtException', (e) => { console.error(`uncaught: ${e.stack}`); });
// Something must keep the process: a client may wait for nothing at all.
setInterval(() => {}, 1000);
const all = (cases) => Promise.all(Object.keys(clients).flatMap((name) => {
  const turns = cases.filter((one) => one.client === name);
  return Array.from({ length: AT_ONCE }, async () => {
    for (let c = turns.shift(); c; c = turns.shift()) await told(c);
  });
}));
const isFirst = (c) => c.patience > 1000;
(async () => {
  await all(plan.filter(isFirst));
  console.log('ready');
  await new Promise((resolve) => { process.stdin.once('data', resolve); });
  await all(plan.filter((c) => !isFirst(c)));
  process.exit(0);
})();
