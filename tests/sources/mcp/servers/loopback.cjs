// Preloaded into servers that would listen on every interface: they get a port of this machine only, and print it.
const { Server } = require("node:net");

console.log = console.error; // nobody reads what follows the port
const listen = Server.prototype.listen;
Server.prototype.listen = function (port, ...rest) {
  this.once("listening", () => process.stdout.write(`${this.address().port}\n`));
  return listen.call(this, { port: Number(port), host: "127.0.0.1" }, ...rest);
};
